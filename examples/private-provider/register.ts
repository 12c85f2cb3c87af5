import { randomUUID } from "node:crypto";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import process from "node:process";
import type * as core from "@huaweicloud/huaweicloud-sdk-core";
import type * as builder from "@huaweicloud/huaweicloud-sdk-core/ClientBuilder.js";
import type { SdkResponse } from "@huaweicloud/huaweicloud-sdk-core/SdkResponse.js";

// Registers a version of a private provider through the RFS API, with the official SDK:
//   node register.ts URL CREDENTIALS-FILE NAME VERSION FUNCTION-URN
// A version never changes. A new one is added to the provider that is there.

const require = createRequire(import.meta.url);
const { GlobalCredentials } = require("@huaweicloud/huaweicloud-sdk-core") as typeof core;
const { ClientBuilder } =
  require("@huaweicloud/huaweicloud-sdk-core/ClientBuilder") as typeof builder;

const [endpoint = "", file = "", name = "", version = "", urn = ""] = process.argv.slice(2);
if (urn === "") {
  throw new Error("usage: node register.ts URL CREDENTIALS-FILE NAME VERSION FUNCTION-URN");
}
const { account, accessKey, secretKey } = JSON.parse(await readFile(file, "utf8")) as {
  readonly account: string;
  readonly accessKey: string;
  readonly secretKey: string;
};
const client = new ClientBuilder((built) => built, "GlobalCredentials")
  .withCredential(new GlobalCredentials().withAk(accessKey).withSk(secretKey).withDomainId(account))
  .withEndpoint(endpoint)
  .build();

async function post(path: string, data: Record<string, string>) {
  return client.sendRequest<SdkResponse & { provider_source?: string }>({
    method: "POST",
    url: path,
    contentType: "application/json",
    queryParams: {},
    pathParams: { provider_name: name },
    headers: { "Client-Request-Id": randomUUID() },
    data,
  });
}

const first = { provider_version: version, function_graph_urn: urn };
try {
  await post("/v1/private-providers", { provider_name: name, ...first });
} catch (error) {
  const { httpStatusCode } = error as { readonly httpStatusCode?: number };
  if (httpStatusCode !== 409) throw error;
  await post("/v1/private-providers/{provider_name}/versions", first);
}
process.stdout.write(`huawei.com/private-provider/${name} ${version} is registered\n`);
