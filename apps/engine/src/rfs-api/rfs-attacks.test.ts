import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { packArchive } from "@stackwright/provider-source";
import { signRequest } from "@stackwright/request-signing";
import { expect, it, onTestFinished } from "vitest";
import { startApi } from "../testing/start-api.ts";

const ID = "8f14e45f-ceea-467f-a9a7-d5b1d9e2b9a1";
const STACKS = "/v1/web/stacks";
const TEMPLATE = 'resource "terraform_data" "a" { input = "x" }';

async function start(options: Parameters<typeof startApi>[1] = {}) {
  const api = await startApi("none", options);
  const send = async (
    method: string,
    path: string,
    { token = api.first.token, body }: { readonly token?: string; readonly body?: object } = {},
  ) =>
    api.call(method, path, {
      token: "",
      ...(body !== undefined && { body }),
      headers: { "client-request-id": ID, ...(token !== "" && { "x-auth-token": token }) },
    });
  return { ...api, send };
}

/** A server on this machine with a body under each path. */
async function serveFiles(files: Readonly<Record<string, Uint8Array | string>>) {
  const seen: string[] = [];
  const server = createServer((request, response) => {
    const path = request.url ?? "";
    seen.push(path);
    const found = files[path];
    if (typeof found === "string" && found.startsWith("redirect:")) {
      response.writeHead(302, { location: found.slice(9) }).end();
    } else if (found === undefined) response.writeHead(404).end("secret of another server");
    else response.writeHead(200).end(found);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  return { seen, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

async function zip(files: Readonly<Record<string, string>>): Promise<Buffer> {
  const entries = Object.entries(files).map(([path, text]) => ({
    path,
    content: Buffer.from(text),
  }));
  const chunks: Uint8Array[] = [];
  for await (const chunk of packArchive(entries)) chunks.push(chunk);
  return Buffer.concat(chunks);
}

it("lets each role do what it may, and shows nothing of other projects", async () => {
  const { send, tokenOf } = await start();
  const made = await send("POST", STACKS, { body: { stack_name: "shop" } });
  expect(made.status).toBe(201);
  const reader = await tokenOf("reader");
  const deployer = await tokenOf("deployer");
  const elsewhere = await tokenOf("admin", ["other"]);
  const calls: readonly [string, string, object | undefined, number, number][] = [
    // Method, path, body, and the answers for readers and deployers.
    ["GET", STACKS, undefined, 200, 200],
    ["GET", `${STACKS}/shop/metadata`, undefined, 200, 200],
    ["GET", `${STACKS}/shop/events`, undefined, 200, 200],
    ["GET", `${STACKS}/shop/outputs`, undefined, 200, 200],
    ["GET", `${STACKS}/shop/resources`, undefined, 200, 200],
    ["GET", `${STACKS}/shop/templates`, undefined, 404, 404],
    ["GET", `${STACKS}/shop/execution-plans`, undefined, 200, 200],
    ["GET", "/v1/web/templates", undefined, 200, 200],
    ["POST", STACKS, { stack_name: "more" }, 403, 403],
    ["PATCH", `${STACKS}/shop`, { description: "x" }, 403, 204],
    ["POST", "/v1/web/template-analyses/variables", { template_body: TEMPLATE }, 403, 200],
    ["POST", "/v1/web/templates", { template_name: "t", template_body: TEMPLATE }, 403, 200],
    ["POST", `${STACKS}/shop/continuations`, {}, 403, 403],
    ["POST", `${STACKS}/shop/rollbacks`, {}, 403, 403],
    ["DELETE", `${STACKS}/shop`, undefined, 403, 403],
    ["POST", `${STACKS}/shop/deletion`, {}, 403, 403],
    ["POST", `${STACKS}/shop/deployments`, { template_body: TEMPLATE }, 403, 202],
    ["POST", `${STACKS}/shop/execution-plans`, { execution_plan_name: "p" }, 403, 403],
  ];
  for (const [method, path, body, forReader, forDeployer] of calls) {
    const given = body === undefined ? {} : { body };
    const answers = [
      (await send(method, path, { token: "", ...given })).status,
      (await send(method, path, { token: elsewhere, ...given })).status,
      (await send(method, path, { token: reader, ...given })).status,
      (await send(method, path, { token: deployer, ...given })).status,
    ];
    expect([method, path, ...answers]).toEqual([method, path, 401, 403, forReader, forDeployer]);
  }
});

it("takes a signed request once, and none whose body, path or project was changed", async () => {
  const { server } = await start();
  const key = await server.credentials.createKey({ account: "default", roles: ["admin"] });
  const body = Buffer.from(JSON.stringify({ stack_name: "shop" }));
  const headers: [string, string][] = [
    ["host", new URL(server.url).host],
    ["content-type", "application/json"],
    ["client-request-id", ID],
  ];
  const signed = signRequest({ method: "POST", target: STACKS, headers, body }, key);
  const all = Object.fromEntries(signed);
  const post = async (path: string, given: Uint8Array) =>
    (
      await fetch(server.url + path, {
        method: "POST",
        headers: all,
        body: Uint8Array.from(given),
      })
    ).status;
  expect(await post(STACKS, Buffer.from(JSON.stringify({ stack_name: "other" })))).toBe(401);
  expect(await post("/v1/api/stacks", body)).toBe(401);
  expect(await post(STACKS, body)).toBe(201);
  expect(await post(STACKS, body)).toBe(401);
});

it("reads no address within this machine or another network, whatever leads there", async () => {
  const { send } = await start();
  await send("POST", STACKS, { body: { stack_name: "shop" } });
  const files = await serveFiles({ "/main.tf": TEMPLATE });
  const port = new URL(files.url).port;
  for (const uri of [
    `${files.url}/main.tf`,
    `http://localhost:${port}/main.tf`,
    `https://[::1]:${port}/main.tf`,
    `https://[::ffff:127.0.0.1]:${port}/main.tf`,
    `http://2130706433:${port}/main.tf`,
    "https://169.254.169.254/latest/main.tf",
    "https://10.0.0.1/main.tf",
    "file:///etc/main.tf",
    `https://user:password@127.0.0.1:${port}/main.tf`,
    `https://127.0.0.1:${port}/passwd?x=main.tf`,
  ]) {
    const answer = await send("POST", `${STACKS}/shop/deployments`, {
      body: { template_uri: uri },
    });
    expect([uri, answer.status]).toEqual([uri, 400]);
    expect(answer.json["error_code"]).toMatch(/^RF\.1090/);
  }
  expect(files.seen).toEqual([]);
});

it("reads allowed addresses within bounds, and archives that are templates", async () => {
  const { send } = await start({ upstreamNetworks: ["127.0.0.0/8"] });
  await send("POST", STACKS, { body: { stack_name: "shop" } });
  const many = Object.fromEntries(Array.from({ length: 101 }, (_, at) => [`f${at}.txt`, "x"]));
  const files = await serveFiles({
    "/good.zip": await zip({
      "main.tf": TEMPLATE,
      "modules/a/main.tf": 'output "x" { value = 1 }',
    }),
    "/bomb.zip": await zip({ "main.tf": TEMPLATE, "zeros.txt": "0".repeat(4 * 1024 * 1024) }),
    "/many.zip": await zip({ "main.tf": TEMPLATE, ...many }),
    "/values.zip": await zip({ "main.tf": TEMPLATE, "x.auto.tfvars": "a = 1" }),
    "/none.zip": await zip({ "readme.md": "no template" }),
    "/damaged.zip": Buffer.from("PK\u0003\u0004 no archive"),
    "/large.tf": "#".repeat(2 * 1024 * 1024),
    "/led.tf": "redirect:http://10.0.0.1/main.tf",
    "/values.tfvars": 'word = "from an address"\n',
  });
  const deploy = async (body: object) => send("POST", `${STACKS}/shop/deployments`, { body });
  for (const path of ["bomb.zip", "many.zip", "values.zip", "none.zip", "damaged.zip"]) {
    const answer = await deploy({ template_uri: `${files.url}/${path}` });
    expect([path, answer.status, answer.json["error_code"]]).toEqual([path, 400, "RF.10905002"]);
  }
  for (const path of ["large.tf", "led.tf", "absent.tf"]) {
    const answer = await deploy({ template_uri: `${files.url}/${path}` });
    expect([path, answer.status, answer.json["error_code"]]).toEqual([path, 400, "RF.10905004"]);
    expect(answer.text).not.toContain("secret of another server");
  }
  const good = await deploy({
    template_uri: `${files.url}/good.zip`,
    vars_uri: `${files.url}/values.tfvars`,
  });
  expect(good.status).toBe(202);
  // Queued, as no worker executes it.
  const again = await deploy({ template_body: TEMPLATE });
  expect([again.status, again.json["error_code"]]).toEqual([403, "RF.10012519"]);
});

it("answers hostile values with what is wrong, and never as one that it did not expect", async () => {
  const { send, call, first } = await start();
  await send("POST", STACKS, { body: { stack_name: "shop" } });
  const deployments = `${STACKS}/shop/deployments`;
  const variables = 'variable "n" { type = number }\nvariable "m" { default = "own" }\n';
  const cases: readonly [string, string, object, string][] = [
    ["POST", STACKS, { stack_name: "../x" }, "RF.10011010"],
    ["POST", STACKS, { stack_name: "a".repeat(129) }, "RF.10011005"],
    ["POST", STACKS, { stack_name: "x", enable_auto_rollback: "yes" }, "RF.10011038"],
    ["POST", STACKS, { stack_name: "x", agencies: [{ provider_name: "a" }] }, "RF.10905005"],
    ["POST", STACKS, { stack_name: "x", unknown: 1 }, "RF.10011002"],
    ["POST", STACKS, { stack_name: "x", vars_body: "a = 1" }, "RF.10011028"],
    ["POST", deployments, {}, "RF.10011001"],
    ["POST", deployments, { template_body: "x".repeat(51_201) }, "RF.10011005"],
    ["POST", deployments, { template_body: "resource {" }, "RF.10905002"],
    [
      "POST",
      deployments,
      { template_body: TEMPLATE, template_uri: "https://x/a.tf" },
      "RF.10011028",
    ],
    [
      "POST",
      deployments,
      { template_body: variables, vars_structure: [{ var_key: "n", var_value: "1\nm = 2" }] },
      "RF.10905003",
    ],
    [
      "POST",
      deployments,
      { template_body: variables, vars_structure: [{ var_key: "n", var_value: "var.m" }] },
      "RF.10905003",
    ],
    [
      "POST",
      deployments,
      {
        template_body: variables,
        vars_body: "n = 1",
        vars_structure: [{ var_key: "n", var_value: "2" }],
      },
      "RF.10011028",
    ],
    [
      "POST",
      deployments,
      {
        template_body: variables,
        vars_structure: [{ var_key: "__proto__", var_value: "2" }],
      },
      "RF.10900102",
    ],
    ["PATCH", `${STACKS}/shop`, {}, "RF.10011084"],
  ];
  for (const [method, path, body, code] of cases) {
    const answer = await send(method, path, { body });
    expect([path, body, answer.json["error_code"]]).toEqual([path, body, code]);
    expect(answer.status).toBe(400);
  }
  for (const query of [
    "limit=9",
    "limit=x",
    "marker=abc",
    "marker=YQ.YQ",
    "unknown=1",
    "limit=10&limit=10",
  ]) {
    expect([query, (await send("GET", `${STACKS}?${query}`)).status]).toEqual([query, 400]);
  }
  const filters = ["event_type", "other==x", "event_type==a(b)"];
  for (const filter of filters) {
    const path = `${STACKS}/shop/events?filter=${encodeURIComponent(filter)}`;
    expect([filter, (await send("GET", path)).json["error_code"]]).toEqual([filter, "RF.10011088"]);
  }
  const headers = { "x-auth-token": first.token };
  expect((await call("GET", STACKS, { token: "", headers })).json["error_code"]).toBe(
    "RF.10011001",
  );
  expect((await call("GET", "/v1/template-contents/abc.def", { token: "" })).status).toBe(403);
  expect((await send("GET", "/v1/web/no-such-operation")).json["error_code"]).toBe("RF.10900303");
});

it("has changes and refusals in the audit trail, with their caller, and reads in none", async () => {
  const { send, call, first, tokenOf } = await start();
  const made = await send("POST", STACKS, { body: { stack_name: "shop" } });
  expect(made.status).toBe(201);
  await send("GET", `${STACKS}/shop/metadata`);
  await send("PATCH", `${STACKS}/shop`, { body: { description: "x" } });
  const set = { stack_set_name: "shops", template_body: TEMPLATE };
  await send("POST", "/v1/stack-sets", { body: set });
  const reader = await tokenOf("reader");
  const refused = await send("DELETE", `${STACKS}/shop`, { token: reader });
  expect(refused.status).toBe(403);
  await send("DELETE", `${STACKS}/none`);
  const { json } = await call("GET", "/api/v1/audit", { token: first.token });
  const { entries } = json as { entries: Record<"action" | "target" | "outcome", string>[] };
  expect(entries.map(({ action, target, outcome }) => [action, target, outcome])).toEqual([
    ["CreateStack", "web/stacks", "done"],
    ["UpdateStack", "web/stacks/shop", "done"],
    ["CreateStackSet", "stack-sets", "done"],
    ["DeleteStack", "web/stacks/shop", "HTTP_403"],
    ["DeleteStack", "web/stacks/none", "HTTP_404"],
  ]);
});

it("the address of a template ends with the credential that it was made for, and with its rights", async () => {
  const { call, send, server } = await start();
  const body = { template_name: "t", template_body: TEMPLATE };
  expect((await send("POST", "/v1/web/templates", { body })).status).toBe(200);
  await call("POST", "/api/v1/users", { body: { name: "lea" } });
  const give = async (project: string) =>
    call("PUT", `/api/v1/projects/${project}/roles/user/lea`, { body: { role: "viewer" } });
  await give("web");
  const user = { account: "default", user: "lea", roles: ["reader"] } as const;
  const { token, tokenId } = await server.credentials.createToken(user);
  const key = await server.credentials.createKey({ account: "default", roles: ["reader"] });
  const target = "/v1/web/templates/t/versions/V1";
  const url = server.url + target;
  const headers: [string, string][] = [["host", new URL(url).host]];
  const signed = signRequest({ method: "GET", target, headers, body: new Uint8Array() }, key);
  const addressFor = async (headers: Record<string, string>): Promise<string> => {
    const answer = await fetch(url, {
      redirect: "manual",
      headers: { "client-request-id": ID, ...headers },
    });
    expect(answer.status).toBe(307);
    return answer.headers.get("location") ?? "";
  };
  const read = async (address: string): Promise<number> => (await fetch(address)).status;
  const byToken = await addressFor({ "x-auth-token": token });
  const byKey = await addressFor(Object.fromEntries(signed));
  expect([await read(byToken), await read(byKey)]).toEqual([200, 200]);
  await call("DELETE", "/api/v1/projects/web/roles/user/lea");
  await give("net");
  expect(await read(byToken)).toBe(403);
  await give("web");
  expect(await read(byToken)).toBe(200);
  await server.credentials.revoke(tokenId);
  await server.credentials.revoke(key.accessKey);
  expect([await read(byToken), await read(byKey)]).toEqual([403, 403]);
});
