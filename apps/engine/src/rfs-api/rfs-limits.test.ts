import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { packArchive } from "@stackwright/provider-source";
import { expect, it, onTestFinished } from "vitest";
import { startApi } from "../testing/start-api.ts";

// The limits that docs/rfs-stacks.md names: what is at them is taken, what is over them is refused with the documented code.

const STACKS = "/v1/web/stacks";
const TEMPLATES = "/v1/web/templates";
const VARIABLES = "/v1/web/template-analyses/variables";
const LIMIT = "RF.10905009";

async function start() {
  const api = await startApi("none", { upstreamNetworks: ["127.0.0.0/8"] });
  const headers = { "x-auth-token": api.first.token };
  const send = async (method: string, path: string, body?: object) => {
    const { status, json } = await api.call(method, path, {
      token: "",
      ...(body !== undefined && { body }),
      headers: { ...headers, "client-request-id": randomUUID() },
    });
    return { status, json, code: json["error_code"] };
  };
  return { send };
}

it("takes a template of 51,200 characters, and a hundred values", async () => {
  const { send } = await start();
  const sized = (length: number) => ({ template_body: `#${"x".repeat(length - 2)}\n` });
  expect(await send("POST", VARIABLES, sized(51_200))).toMatchObject({ status: 200 });
  expect(await send("POST", VARIABLES, sized(51_201))).toMatchObject({
    status: 400,
    code: "RF.10011005",
  });
  const values = (count: number) => ({
    stack_name: `s${count}`,
    template_body: Array.from({ length: count }, (_, at) => `variable "v${at}" {}\n`).join(""),
    vars_structure: Array.from({ length: count }, (_, at) => ({
      var_key: `v${at}`,
      var_value: "x",
    })),
  });
  expect(await send("POST", STACKS, values(101))).toMatchObject({
    status: 400,
    code: "RF.10011005",
  });
  expect(await send("POST", STACKS, values(100))).toMatchObject({ status: 201 });
});

it("takes an archive of a hundred files, and a text of a mebibyte at an address", async () => {
  const { send } = await start();
  const archive = async (count: number): Promise<Buffer> => {
    const entries = Array.from({ length: count }, (_, at) => ({
      path: `f${at}.tf`,
      content: Buffer.from(`variable "v${at}" {}\n`),
    }));
    const chunks: Uint8Array[] = [];
    for await (const chunk of packArchive(entries)) chunks.push(chunk);
    return Buffer.concat(chunks);
  };
  const text = (bytes: number) => Buffer.alloc(bytes, "#");
  const files: Readonly<Record<string, Buffer>> = {
    "/at.zip": await archive(100),
    "/over.zip": await archive(101),
    "/at.tf": text(1024 * 1024),
    "/over.tf": text(1024 * 1024 + 1),
  };
  const server = createServer((request, response) => {
    response.end(files[request.url ?? ""]);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  const read = async (path: string) =>
    send("POST", VARIABLES, { template_uri: `http://127.0.0.1:${port}/${path}` });
  expect((await read("at.zip")).json["variables"]).toHaveLength(100);
  expect(await read("over.zip")).toMatchObject({ status: 400, code: "RF.10905002" });
  expect(await read("at.tf")).toMatchObject({ status: 200 });
  expect(await read("over.tf")).toMatchObject({ status: 400, code: "RF.10905004" });
});

it("has a hundred templates of a project and a hundred versions of one, and says that these are all", async () => {
  const { send } = await start();
  const template = { template_body: 'output "x" { value = 1 }' };
  const create = async (at: number) =>
    send("POST", TEMPLATES, { ...template, template_name: `t${at}` });
  for (let at = 0; at < 100; at += 1) expect((await create(at)).status).toBe(200);
  expect(await create(100)).toMatchObject({ status: 403, code: LIMIT });
  // One of the same name is refused as such.
  expect(await create(1)).toMatchObject({ status: 409, code: "RF.10905012" });
  const version = async () => send("POST", `${TEMPLATES}/t0/versions`, template);
  for (let at = 1; at < 100; at += 1) expect((await version()).status).toBe(200);
  expect(await version()).toMatchObject({ status: 403, code: LIMIT });
  expect((await send("DELETE", `${TEMPLATES}/t0/versions/V1`)).status).toBe(204);
  expect(await version()).toMatchObject({ status: 200, json: { version_id: "V101" } });
  expect((await send("DELETE", `${TEMPLATES}/t0`)).status).toBe(204);
  expect((await create(100)).status).toBe(200);
}, 120_000);
