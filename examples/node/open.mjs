import { call } from "./client.mjs";
import { sign } from "./sign.mjs";

const { state } = await call("POST", "/v1/batches", { userKey: "catalog-9" }, { sign });
const { batches } = await call("GET", "/v1/batches?userKey=catalog-9&limit=1", undefined, { sign });
console.log(state, batches[0].userKey);
