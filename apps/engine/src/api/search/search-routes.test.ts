import { expect, it } from "vitest";
import { P, S, startApi } from "../../testing/start-api.ts";

type Api = Awaited<ReturnType<typeof startApi>>;

const MAIN = `
resource "terraform_data" "web" {
  count = 3
  input = "secret-value"
}
resource "terraform_data" "Database" {}
output "address" { value = terraform_data.web[0].id }
`;

/** The stacks `web/one` and `base/two` with the same resources. */
async function start(): Promise<Api> {
  const api = await startApi();
  const { call, upload } = api;
  await call("POST", `${P}/stacks`, { body: { name: "one" } });
  const { digest } = (await upload({ "main.tf": MAIN })).json;
  const run = await call("POST", `${S}/runs`, {
    body: { configuration: digest, auto_apply: true },
  });
  const at = `${S}/runs/${String(run.json["id"])}`;
  await expect
    .poll(async () => (await call("GET", at)).json["phase"], { timeout: 30_000 })
    .toBe("applied");
  return api;
}

it("resources are found by parts of their addresses and by type, without their values", {
  timeout: 60_000,
}, async () => {
  const { call, tokenOf } = await start();
  const found = async (query: string, token?: string) => {
    const answer = await call("GET", `/api/v1/search?${query}`, { token });
    expect(answer.status, answer.text).toBe(200);
    expect(answer.text).not.toContain("secret-value");
    const { resources, more } = answer.json;
    return { more, addresses: (resources as { address: string }[]).map(({ address }) => address) };
  };
  const web = ["terraform_data.web[0]", "terraform_data.web[1]", "terraform_data.web[2]"];
  expect(await found("q=WEB")).toEqual({ more: false, addresses: web });
  expect((await found("type=terraform_data")).addresses).toHaveLength(4);
  expect((await found("type=terraform")).addresses).toEqual([]);
  expect((await found("q=database&project=web")).addresses).toEqual(["terraform_data.Database"]);
  expect((await found("q=database&project=base")).addresses).toEqual([]);
  expect(await found("q=web&limit=2")).toEqual({ more: true, addresses: web.slice(0, 2) });
  const elsewhere = await tokenOf("reader", ["base"]);
  expect((await found("", elsewhere)).addresses).toEqual([]);
  expect((await call("GET", "/api/v1/search?limit=0")).status).toBe(400);

  const uses = async (query: string, token?: string) =>
    (await call("GET", `/api/v1/where-used?${query}`, { token })).json["uses"];
  const builtIn = { project: "web", stack: "one", resources: 4 };
  expect(await uses("kind=provider&name=builtin/terraform")).toMatchObject([builtIn]);
  expect(await uses("kind=provider&name=uiltin/terraform")).toEqual([]);
  expect(await uses("kind=provider&name=builtin/terraform&version=9.9.9")).toEqual([]);
  expect(await uses("kind=provider&name=builtin/terraform", elsewhere)).toEqual([]);
});

it("uses of stacks and variable sets are found, within the rights of the token", async () => {
  const { call, tokenOf } = await startApi("none");
  for (const name of ["site", "network", "other"]) {
    await call("POST", `${P}/stacks`, { body: { name } });
  }
  await call("POST", `${P}/stacks/site/triggers`, {
    body: { producer: { stack: "network" }, mode: "apply" },
  });
  const made = await call("POST", `${P}/variable-sets`, {
    body: { name: "shared", stacks: ["s*", "net*"] },
  });
  expect(made.status, made.text).toBe(201);
  const ask = async (query: string, token?: string) =>
    call("GET", `/api/v1/where-used?${query}`, { token });
  const stacksOf = async (query: string) =>
    ((await ask(query)).json["uses"] as { stack: string }[] | undefined)?.map(({ stack }) => stack);
  await expect
    .poll(async () => (await ask("kind=stack&name=web/network")).json["uses"])
    .toEqual([{ project: "web", stack: "site", outputs: [], outdated: false, triggered: true }]);
  await expect
    .poll(async () => stacksOf("kind=variable_set&name=web/shared"))
    .toEqual(["network", "site"]);

  const elsewhere = await tokenOf("reader", ["base"]);
  for (const [query, token, status] of [
    ["kind=stack&name=web/missing", undefined, 404],
    ["kind=variable_set&name=web/missing", undefined, 404],
    ["kind=stack&name=web/network", elsewhere, 404],
    ["kind=variable_set&name=web/shared", elsewhere, 404],
    ["kind=stack&name=network", undefined, 400],
    ["kind=stack&name=web/network&version=1", undefined, 400],
    ["kind=stacks&name=x", undefined, 400],
  ] as const) {
    expect((await ask(query, token)).status, query).toBe(status);
  }
});

it("uses through others are found with the stacks in between, where they are asked for", async () => {
  const { call, tokenOf } = await startApi("none");
  for (const name of ["network", "db", "app", "front"]) {
    await call("POST", `${P}/stacks`, { body: { name } });
  }
  for (const [stack, from] of [
    ["db", "network"],
    ["app", "db"],
    ["front", "app"],
  ]) {
    const body = { producer: { stack: from }, mode: "apply" };
    await call("POST", `${P}/stacks/${stack}/triggers`, { body });
  }
  await call("POST", `${P}/variable-sets`, { body: { name: "shared", stacks: ["network", "db"] } });
  const ask = async (query: string, token?: string) => {
    const { status, json, text } = await call("GET", `/api/v1/where-used?${query}`, { token });
    if (status !== 200) return [String(status), text];
    const uses = json["uses"] as {
      stack: string;
      distance?: number;
      through?: { stack: string }[];
    }[];
    return uses.map(({ stack, distance, through = [] }) =>
      [stack, distance ?? "itself", ...through.map((one) => one.stack)].join(" "),
    );
  };
  await expect
    .poll(async () => ask("kind=stack&name=web/network&transitive=true"))
    .toEqual(["db itself", "app 1 db", "front 2 app"]);
  expect(await ask("kind=stack&name=web/network")).toEqual(["db itself"]);
  await expect
    .poll(async () => ask("kind=variable_set&name=web/shared&transitive=true"))
    .toEqual(["db itself", "network itself", "app 1 db", "front 2 app"]);
  expect(await ask("kind=module&name=acme/net/aws&transitive=true")).toEqual([]);
  const elsewhere = await tokenOf("reader", ["base"]);
  expect(await ask("kind=stack&name=web/network&transitive=true", elsewhere)).toContain("404");
});

it("uses through stacks that the caller does not see are found, without the names of these", async () => {
  const { call, tokenOf } = await startApi("none");
  const shared = { outputs_shared_with: ["hidden", "web"] };
  for (const name of ["web", "hidden"]) {
    expect((await call("POST", "/api/v1/projects", { body: { name, ...shared } })).status).toBe(
      201,
    );
  }
  const chain = ["web/network", "web/db", "hidden/mid", "web/front"].map((one) => one.split("/"));
  for (const [index, [project = "", name = ""]] of chain.entries()) {
    const stacks = `/api/v1/projects/${project}/stacks`;
    expect((await call("POST", stacks, { body: { name } })).status).toBe(201);
    const from = chain[index - 1];
    if (from === undefined) continue;
    const body = { producer: { project: from[0], stack: from[1] }, mode: "apply" };
    expect((await call("POST", `${stacks}/${name}/triggers`, { body })).status).toBe(201);
  }
  const token = await tokenOf("reader", ["web"]);
  const ask = async (given: { readonly token?: string }) =>
    call("GET", "/api/v1/where-used?kind=stack&name=web/network&transitive=true", given);
  await expect.poll(async () => (await ask({})).text).toContain("front");
  expect((await ask({})).text).toContain('"hidden"');
  const limited = await ask({ token });
  expect(limited.text).not.toContain("hidden");
  expect(limited.json["uses"]).toMatchObject([
    { project: "web", stack: "db" },
    { project: "web", stack: "front", distance: 2, through: [] },
  ]);
});

it("uses through a stack that uses it itself and that the caller does not see are found, without its name", async () => {
  const { call, tokenOf } = await startApi("none");
  const shared = { outputs_shared_with: ["hidden", "web"] };
  for (const name of ["web", "hidden"]) {
    await call("POST", "/api/v1/projects", { body: { name, ...shared } });
  }
  for (const [project, name, from] of [
    ["web", "network", undefined],
    ["hidden", "mid", "web/network"],
    ["web", "front", "hidden/mid"],
  ] as const) {
    const stacks = `/api/v1/projects/${project}/stacks`;
    expect((await call("POST", stacks, { body: { name } })).status).toBe(201);
    const [producer = "", stack] = from?.split("/") ?? [];
    if (stack === undefined) continue;
    const body = { producer: { project: producer, stack }, mode: "apply" };
    expect((await call("POST", `${stacks}/${name}/triggers`, { body })).status).toBe(201);
  }
  const token = await tokenOf("reader", ["web"]);
  const query = "/api/v1/where-used?kind=stack&name=web/network";
  await expect
    .poll(async () => (await call("GET", `${query}&transitive=true`)).text)
    .toContain("front");
  const limited = await call("GET", `${query}&transitive=true`, { token });
  expect(limited.text).not.toContain("hidden");
  expect(limited.json["uses"]).toEqual([
    { project: "web", stack: "front", distance: 1, triggered: true, through: [] },
  ]);
  expect((await call("GET", query, { token })).json["uses"]).toEqual([]);
});
