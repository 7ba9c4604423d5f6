// BullMQ: `flow.mjs publish ITEMS` adds a flow, `flow.mjs work` works on its children and its parent.
import { appendFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { randomUUID } from 'node:crypto'

const require = createRequire(process.env.PEERS_NODE + '/')
const { FlowProducer, Worker } = require('bullmq')
const connection = { host: '127.0.0.1', port: Number(process.env.PEERS_REDIS), maxRetriesPerRequest: null }

const log = (kind, name) => appendFileSync(process.env.PEERS_LOG, `${kind} ${name} ${process.hrtime.bigint()}\n`)
const results = Number(process.env.PEERS_RESULTS)
const sleep = seconds => new Promise(resolve => setTimeout(resolve, 1000 * seconds))

async function publish(items) {
  const flow = new FlowProducer({ connection })
  const children = Array.from({ length: items }, (_, number) => ({
    name: 'item', queueName: 'items', data: { number }
  }))
  await flow.add({ name: 'end', queueName: 'ends', children })
  await flow.close()
}

function work() {
  const seconds = Number(process.env.PEERS_WORK)
  const redelivery = 1000 * Number(process.env.PEERS_REDELIVERY)
  const options = { connection, lockDuration: redelivery, stalledInterval: redelivery / 2 }
  new Worker('items', async job => {
    if (seconds) await sleep(seconds)
    log('work', job.data.number)
    if (results) return { item: job.data.number, run: randomUUID(), text: 'x'.repeat(results - 70) }
  }, options)
  new Worker('ends', async job => {
    log('end', randomUUID())
    if (results) for (const value of Object.values(await job.getChildrenValues())) log('result', value.item)
  }, options)
}

if (process.argv[2] === 'publish') await publish(Number(process.argv[3]))
else work()
