// BullMQ for lab/conforming/flow.py: lines of JSON {id, verb, ...} are answered until the input ends.
import { createRequire } from 'node:module'
import { randomUUID } from 'node:crypto'
import { createInterface } from 'node:readline'

const [, , folder, port] = process.argv
const require = createRequire(folder + '/')
const { FlowProducer, Worker, Job } = require('bullmq')
const connection = { host: '127.0.0.1', port: Number(port), maxRetriesPerRequest: null }
const options = { connection, autorun: false, skipStalledCheck: true, lockDuration: 3_600_000 }
const flows = new FlowProducer({ connection })
const [items, ends] = ['items', 'ends'].map(name => new Worker(name, null, options))
for (const each of [flows, items, ends]) each.on('error', () => {})
const taken = new Map()

const verbs = {
  // All children are taken by a worker, so that each is in progress.
  async send({ batch, ids }) {
    const children = ids.map(id => ({
      name: 'item', queueName: 'items', data: { id }, opts: { ignoreDependencyOnFailure: true }
    }))
    await flows.add({ name: 'end', queueName: 'ends', data: { batch }, children })
    while (ids.some(id => !taken.has(id))) {
      const token = randomUUID()
      const job = await items.getNextJob(token, { block: false })
      if (job) taken.set(job.data.id, [job, token])
    }
  },
  // What a worker does at the end of a job, or does again with a job that it was given again.
  async work({ item, fails }) {
    const [job, token] = taken.get(item)
    if (fails) await job.moveToFailed(new Error('bad record'), token, false)
    else await job.moveToCompleted(randomUUID(), token, false)
  },
  async ends() {
    const found = []
    for (let job; (job = await ends.getNextJob(randomUUID(), { block: false }));) {
      const failed = Object.keys(await job.getIgnoredChildrenFailures()).length
      found.push([job.data.batch, failed === 0])
    }
    return found
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  const { id, verb, ...given } = JSON.parse(line)
  verbs[verb](given).then(
    answer => console.log(JSON.stringify({ id, answer: answer ?? null })),
    error => console.log(JSON.stringify({ id, error: String(error.message) }))
  )
}
process.exit(0)
