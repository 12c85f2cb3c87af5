import { expect, it } from "vitest";
import { allOperationsOf } from "../testing/api-document.ts";
import { filledPath } from "../testing/filled-path.ts";
import { P, S, startApi } from "../testing/start-api.ts";

/**
 * Operations that name no stack and are for tokens of single stacks, too. What they answer has no part of another stack: it is left out,
 * belongs to the caller itself, or to no stack.
 */
const BESIDE_STACKS: ReadonlySet<string> = new Set([
  // The caller and its own credentials.
  "ShowCaller",
  "ListTokens",
  "CreateToken",
  "RevokeToken",
  "ListSessions",
  "EndSession",
  // Other stacks are left out.
  "ListProjects",
  "ShowProject",
  "ListStacks",
  "ListStackTools",
  "ListDrift",
  "ListSchemaChanges",
  "CompareProviderSchemas",
  "WatchTopics",
  "GET /api/v1/registry/private-providers/{name}/uses",
  "PUT /api/v1/registry/private-providers/{name}/versions/{version}/uses",
  "DELETE /api/v1/registry/private-providers/{name}/versions/{version}/uses",
  // What runs of all stacks install from, and who issues their identities.
  "ShowIdentityIssuer",
  "ListPrivateProviders",
  "ShowPrivateProviderMetadata",
  "ShowPrivateProvider",
  "ListPrivateProviderVersions",
  "ShowPrivateProviderVersionMetadata",
  "GET /api/v1/registry/private-providers/{name}/versions/{version}/health",
  "GET /terraform/v1/providers/{namespace}/{type}/versions",
  "GET /terraform/v1/providers/{namespace}/{type}/{version}/download/{os}/{arch}",
  "GET /terraform/v1/mirror/{hostname}/{namespace}/{type}/{*}",
  // For everybody.
  "GET /.well-known/terraform.json",
  "GET /healthz",
  "GET /readyz",
  "GET /metrics",
]);
/** What an address has to say besides, to be answered. */
const QUERIES: Readonly<Record<string, string>> = { WatchTopics: "?topics=resources:web/one" };
const HIDDEN = "hidden-stack";
const PROVIDER = "/api/v1/registry/private-providers/net";
const RFS_HEADERS = { "client-request-id": "6e0f5f3a-6b6e-4c0e-8a53-0c1d7a1d2b3c" };

/**
 * A server with the stack `one`, and another one that follows it, has runs, a lock, a rule for drift, a plan set with `one`, and uses a private
 * provider; and a token for each of the two, of an admin.
 */
async function start() {
  const api = await startApi("none");
  const { server, call, upload } = api;
  const ids: string[] = [];
  const runs: string[] = [];
  const planned: object[] = [];
  for (const stack of ["one", HIDDEN]) {
    const made = await call("POST", `${P}/stacks`, { body: { name: stack } });
    ids.push(String(made.json["id"]));
    const { digest } = (await upload(undefined, stack)).json;
    const body = { configuration: digest };
    planned.push({ stack, ...body });
    runs.push(String((await call("POST", `${P}/stacks/${stack}/runs`, { body })).json["id"]));
  }
  const fill = async (method: string, path: string, body: object): Promise<void> => {
    const { status, text } = await call(method, path, { headers: RFS_HEADERS, body });
    expect([path, status < 300 ? "done" : text]).toEqual([path, "done"]);
  };
  const users = ids.map((id) => `default/web/${id}`);
  const urn = "urn:fss:local:local:function:default:net:latest";
  const version = { provider_version: "1.0.0", function_graph_urn: urn };
  await fill("POST", "/v1/private-providers", { provider_name: "net" });
  await fill("POST", "/v1/private-providers/net/versions", version);
  await fill("PUT", `${PROVIDER}/versions/1.0.0/uses`, { user: users[1] });
  const hidden = `${P}/stacks/${HIDDEN}`;
  await fill("POST", `${hidden}/triggers`, { producer: { stack: "one" }, mode: "plan_only" });
  await fill("PUT", `${hidden}/drift`, { every_minutes: 720, reaction: "report" });
  await fill("PUT", `${hidden}/lock`, { reason: "a test" });
  await fill("POST", `${P}/plan-sets`, { stacks: planned });
  const tokenOf = async (stack: string): Promise<string> => {
    const limits = { projects: ["web"], stacks: [`web/${stack}`] };
    const given = { account: "default", roles: ["admin"] as const, ...limits };
    return (await server.credentials.createToken(given)).token;
  };
  const document = (await call("GET", "/openapi.json")).json;
  const operations = allOperationsOf(document).map(({ name, method, path: template, ...rest }) => {
    const id = name === "" ? `${method} ${template}` : name;
    const provider = { provider_name: "net", provider_version: "1.0.0", version: "1.0.0" };
    const path = filledPath(template, { run: runs[0] ?? "", ...provider });
    return { ...rest, id, method, path: `${path}${QUERIES[id] ?? ""}` };
  });
  /** The status of an answer, and as much of its text as there is at once. */
  const ask = async (token: string, method: string, path: string) => {
    const gone = new AbortController();
    const answer = await fetch(server.url + path, {
      method,
      signal: gone.signal,
      headers: { authorization: `Bearer ${token}`, ...RFS_HEADERS },
    });
    const isStream = answer.headers.get("content-type")?.startsWith("text/event-stream");
    const text = isStream === true ? "" : await answer.text();
    gone.abort();
    return { status: answer.status, text };
  };
  const [own, other] = [await tokenOf("one"), await tokenOf(HIDDEN)];
  return { ...api, ask, operations, users, hidden: [HIDDEN, ids[1], runs[1]], own, other };
}

it("a token that is limited to a stack reaches the routes of this stack, and of all others those of the table", {
  timeout: 120_000,
}, async () => {
  const { ask, operations, own, other } = await start();
  const found: string[] = [];
  const expected: string[] = [];
  // Some end what others ask for: these come last.
  for (const { id, method, path } of operations.toSorted((a, b) => rankOf(a) - rankOf(b))) {
    const isOfStack = path.startsWith(S);
    for (const [name, token] of Object.entries({ own, other })) {
      const { status } = await ask(token, method, path);
      const isReached = status !== 403 && !(isOfStack && name === "other" && status === 404);
      found.push(`${id} ${name} ${isReached ? "reached" : "refused"}`);
      const mayReach = isOfStack ? name === "own" : BESIDE_STACKS.has(id);
      expected.push(`${id} ${name} ${mayReach ? "reached" : "refused"}`);
    }
  }
  expect(found).toEqual(expected);
  const known = new Set(operations.map(({ id }) => id));
  expect([...BESIDE_STACKS].filter((id) => !known.has(id))).toEqual([]);
});

it("what a token that is limited to a stack reads has no name and no id of another one", {
  timeout: 120_000,
}, async () => {
  const { call, ask, operations, hidden, own } = await start();
  const naming: string[] = [];
  for (const { id, method, path } of operations) {
    if (method !== "GET") continue;
    const { text } = await ask(own, method, path);
    if (hidden.some((name) => text.includes(name ?? ""))) naming.push(id);
  }
  expect(naming).toEqual([]);
  // They are there for those who may see them.
  expect((await call("GET", `${PROVIDER}/uses`)).text).toContain(hidden[1]);
});

it("a token that is limited to a stack records and releases the uses of this stack alone, and sees no others", async () => {
  const { call, users, own } = await start();
  const url = `${PROVIDER}/versions/1.0.0/uses`;
  const [user = "", beside = ""] = users;
  const put = async (name: string) => call("PUT", url, { token: own, body: { user: name } });
  const release = async (name: string) =>
    call("DELETE", `${url}?user=${encodeURIComponent(name)}`, { token: own });
  const seen = async (token?: string): Promise<unknown> =>
    ((await call("GET", `${PROVIDER}/uses`, { token })).json["uses"] as { user: string }[]).map(
      (use) => use.user,
    );
  expect((await put(user)).status).toBe(204);
  // A stack that there is not has the same answer as one that is not to be seen.
  for (const name of [beside, "default/web/01J9ZC0000000000000000NONE", "default/web/one"]) {
    expect([name, (await put(name)).status, (await release(name)).status]).toEqual([
      name,
      403,
      403,
    ]);
  }
  expect(await seen(own)).toEqual([user]);
  expect(await seen()).toEqual([user, beside].toSorted());
  expect((await release(user)).status).toBe(204);
  expect(await seen()).toEqual([beside]);
});

function rankOf({ method }: { readonly method: string }): number {
  return method === "DELETE" ? 1 : 0;
}
