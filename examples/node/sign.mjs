import { Sha256 } from "@aws-crypto/sha256-js";
import { defaultProvider } from "@aws-sdk/credential-provider-node";
import { SignatureV4 } from "@smithy/signature-v4";

const signer = new SignatureV4({
  service: "execute-api",
  region: process.env.AWS_REGION,
  credentials: defaultProvider(),
  sha256: Sha256,
});

/** For the option `sign` of call. */
export async function sign({ method, url, headers, body }) {
  const { protocol, hostname, host, pathname, searchParams } = new URL(url);
  const query = Object.fromEntries(searchParams);
  const request = { method, protocol, hostname, path: pathname, query, headers: { ...headers, host }, body };
  const signed = await signer.sign(request);
  return { method, url, headers: signed.headers, body };
}
