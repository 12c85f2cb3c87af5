import type { StorageBackend } from "@stackwright/storage";
import type { FastifyInstance } from "fastify";
import type { RegistryPolicy } from "../domain/policy.ts";
import { rfsPlugin } from "../rfs/rfs-plugin.ts";
import { createRegistryFixture, type RegistryFixture, TEST_CONTEXT } from "./registry-fixture.ts";
import type {
  Matcher,
  VectorCase,
  VectorExpect,
  VectorGiven,
  VectorRequest,
  Vectors,
} from "./vectors.ts";

const GENERATED_FROM = Date.parse("2024-12-12T08:00:00.000Z");
const DEFAULT_NOW = Date.parse("2024-12-12T12:00:00.000Z");
const CLIENT_REQUEST_ID = "8f14e45f-ceea-467f-a9a7-d5b1d9e2b9a1";

interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly text: string;
  readonly body: Readonly<Record<string, unknown>>;
}

/** Server and credentials for one case, in the state that it is given. */
interface PreparedVector extends AsyncDisposable {
  /** Sends the request and throws for the first expectation that does not hold. */
  run(expect: VectorExpect): Promise<void>;
}

/** Brings an empty store into the state of a case. The store belongs to the caller. */
export async function prepareVector(
  storage: StorageBackend,
  { fixture }: Pick<Vectors, "fixture">,
  { given, request }: Pick<VectorCase, "given" | "request">,
): Promise<PreparedVector> {
  const policy: RegistryPolicy = {
    maxProviders: given.quota?.providers ?? 10_000,
    maxVersionsPerProvider: given.quota?.versions_per_provider ?? 10_000,
    deleteProvider: given.delete_policy?.startsWith("refuse") ? "refuse" : "cascade",
  };
  const registry = await createRegistryFixture(storage, policy);
  await store(registry, fixture, given);
  registry.clock.setWallMs(given.now === undefined ? DEFAULT_NOW : Date.parse(given.now));

  const server = registry.server();
  await server.register(rfsPlugin, {
    prefix: "/v1",
    registry: registry.registry,
    authenticator: registry.authenticator,
    region: fixture.region,
    ...(given.rate_limited === true ? { rateLimit: { perSecond: 0.01, burst: 1 } } : {}),
  });
  const headers =
    given.authenticated === false
      ? {}
      : await registry.authorization(
          fixture.domain_id,
          given.allowed === false ? "worker" : "admin",
        );
  const ask = async (asked: VectorRequest): Promise<Answer> =>
    send(server, await withMarker(server, headers, asked), headers);
  if (given.rate_limited === true) {
    await ask({ method: "GET", target: "/v1/private-providers" });
  }
  return {
    async run(expect) {
      const answer = await ask(request);
      checkAnswer(answer, expect);
      if (expect.walk !== undefined) await checkWalk(ask, request, expect.walk);
      if (expect.state !== undefined) await checkState(ask, expect.state);
      for (const next of expect.then ?? []) checkAnswer(await ask(next.request), next.expect);
    },
    [Symbol.asyncDispose]: () => registry[Symbol.asyncDispose](),
  };
}

async function store(
  { registry, clock, nextIds }: RegistryFixture,
  fixture: Vectors["fixture"],
  given: VectorGiven,
): Promise<void> {
  for (let index = 0; index < (given.providers_generated ?? 0); index += 1) {
    clock.setWallMs(GENERATED_FROM + index * 1000);
    const name = `p${String(index).padStart(4, "0")}`;
    const scope = { account: fixture.domain_id, region: fixture.region };
    await registry.createProvider(scope, { name }, TEST_CONTEXT);
  }
  const providers = (given.providers ?? []).toSorted((a, b) =>
    `${a.create_time} ${a.provider_id}` < `${b.create_time} ${b.provider_id}` ? -1 : 1,
  );
  for (const provider of providers) {
    const scope = { account: provider.domain_id ?? fixture.domain_id, region: fixture.region };
    const { provider_name: name, provider_description: description = "" } = provider;
    clock.setWallMs(Date.parse(provider.create_time ?? "2024-12-12T08:00:00.000Z"));
    if (provider.provider_id !== undefined) nextIds.push(provider.provider_id);
    await registry.createProvider(scope, { name, description }, TEST_CONTEXT);
    nextIds.length = 0;
    for (const version of provider.versions ?? []) {
      clock.setWallMs(Date.parse(version.create_time ?? "2024-12-12T08:00:01.000Z"));
      const input = {
        version: version.provider_version,
        description: version.version_description ?? "",
        functionUrn: version.function_graph_urn,
      };
      await registry.createVersion(scope, { name }, input, TEST_CONTEXT);
    }
    if (provider.update_time !== undefined && provider.update_time !== provider.create_time) {
      clock.setWallMs(Date.parse(provider.update_time));
      await registry.updateProvider(scope, { name }, { description }, TEST_CONTEXT);
    }
  }
}

async function send(
  server: FastifyInstance,
  request: VectorRequest,
  headers: Record<string, string>,
): Promise<Answer> {
  const payload =
    request.raw_body ?? (request.body === undefined ? undefined : JSON.stringify(request.body));
  const answer = await server.inject({
    method: request.method as "GET",
    url: request.target,
    headers: {
      ...headers,
      ...(request.headers ?? { "Client-Request-Id": CLIENT_REQUEST_ID }),
      ...(payload === undefined ? {} : { "content-type": "application/json" }),
    },
    ...(payload === undefined ? {} : { payload }),
  });
  const isJson = String(answer.headers["content-type"]).startsWith("application/json");
  const body = isJson ? answer.json() : {};
  return { status: answer.statusCode, headers: answer.headers, text: answer.body, body };
}

/** Puts `{next_marker_of:?query}` in: the marker that a list with that query gave. */
async function withMarker(
  server: FastifyInstance,
  headers: Record<string, string>,
  request: VectorRequest,
): Promise<VectorRequest> {
  const place = /\{next_marker_of:([^}]*)\}/.exec(request.target);
  if (place === null) return request;
  const [path] = request.target.split("?");
  const page = await send(server, { method: "GET", target: `${path}${place[1]}` }, headers);
  const marker = String((page.body["page_info"] as Record<string, unknown>)["next_marker"]);
  return { ...request, target: request.target.replace(place[0], encodeURIComponent(marker)) };
}

const KNOWN = new Set([
  "status",
  "headers",
  "body",
  "body_empty",
  "names",
  "versions",
  "item_keys",
  "count",
  "next",
  "walk",
  "state",
  "then",
]);

function checkAnswer(answer: Answer, expect: VectorExpect): void {
  const unknown = Object.keys(expect).filter((key) => !KNOWN.has(key));
  must(unknown.length === 0, `expectations that are not understood: ${unknown.join(", ")}`);
  same(answer.status, expect.status, `status (${answer.text.slice(0, 200)})`);
  must(typeof answer.headers["x-request-id"] === "string", "X-Request-Id is missing");
  for (const [name, matcher] of Object.entries(expect.headers ?? {})) {
    checkMatch(answer.headers[name.toLowerCase()], matcher, name);
  }
  for (const [name, matcher] of Object.entries(expect.body ?? {})) {
    checkMatch(answer.body[name], matcher, name);
  }
  if (answer.status >= 400) must(answer.body["error_code"] !== undefined, "no error_code");
  if (expect.body_empty !== undefined) same(answer.text === "", expect.body_empty, "empty body");
  const items = (answer.body["providers"] ?? answer.body["versions"] ?? []) as Record<
    string,
    string
  >[];
  const column = (name: string): unknown[] => items.map((item) => item[name]);
  if (expect.names !== undefined) same(column("provider_name"), expect.names, "names");
  if (expect.versions !== undefined) same(column("provider_version"), expect.versions, "versions");
  if (expect.item_keys !== undefined) {
    must(items.length > 0, "no items");
    for (const item of items) same(sorted(Object.keys(item)), expect.item_keys, "members");
  }
  const info = answer.body["page_info"] as Record<string, unknown> | undefined;
  if (expect.count !== undefined) {
    same(items.length, expect.count, "items");
    same(info?.["current_count"], expect.count, "current_count");
  }
  if (expect.next !== undefined) same(info?.["next_marker"] !== null, expect.next, "next_marker");
}

async function checkWalk(
  ask: (request: VectorRequest) => Promise<Answer>,
  request: VectorRequest,
  walk: { readonly pages?: readonly number[]; readonly total?: number },
): Promise<void> {
  const pages: number[] = [];
  const seen = new Set<unknown>();
  let target = request.target;
  for (;;) {
    const { body } = await ask({ ...request, target });
    const items = (body["providers"] ?? body["versions"]) as Record<string, string>[];
    pages.push(items.length);
    for (const item of items) seen.add(item["provider_version"] ?? item["provider_name"]);
    const marker = (body["page_info"] as Record<string, string | null>)["next_marker"];
    if (marker === null || marker === undefined) break;
    const joint = request.target.includes("?") ? "&" : "?";
    target = `${request.target}${joint}marker=${encodeURIComponent(marker)}`;
  }
  const total = pages.reduce((sum, count) => sum + count, 0);
  same(seen.size, total, "different items");
  if (walk.pages !== undefined) same(pages, walk.pages, "pages");
  if (walk.total !== undefined) same(total, walk.total, "items on all pages");
}

const STATE_FIELDS: Readonly<Record<string, string>> = {
  description_of: "provider_description",
  update_time_of: "update_time",
  create_time_of: "create_time",
  id_of: "provider_id",
};

async function checkState(
  ask: (request: VectorRequest) => Promise<Answer>,
  state: Readonly<Record<string, unknown>>,
): Promise<void> {
  const list = await ask({ method: "GET", target: "/v1/private-providers" });
  const providers = list.body["providers"] as Record<string, string>[];
  for (const [kind, value] of Object.entries(state)) {
    if (kind === "names") {
      const names = providers.map((provider) => String(provider["provider_name"]));
      same(sorted(names), sorted(value as string[]), "names that are left");
      continue;
    }
    const field = STATE_FIELDS[kind];
    must(field !== undefined, `a state that is not understood: ${kind}`);
    for (const [name, wanted] of Object.entries(value as Record<string, string>)) {
      const provider = providers.find((found) => found["provider_name"] === name);
      same(provider?.[field ?? ""], wanted, `${kind} ${name}`);
    }
  }
}

function checkMatch(actual: unknown, matcher: Matcher, name: string): void {
  if (typeof matcher !== "object" || matcher === null) return same(actual, matcher, name);
  if ("not" in matcher) {
    return must(actual !== undefined && actual !== matcher.not, `${name} is ${String(actual)}`);
  }
  must(
    new RegExp(matcher.match).test(String(actual)) && actual !== undefined,
    `${name} is ${String(actual)}, which does not match ${matcher.match}`,
  );
}

function same(actual: unknown, wanted: unknown, what: string): void {
  const [left, right] = [JSON.stringify(actual), JSON.stringify(wanted)];
  must(left === right, `${what}: ${left} instead of ${right}`);
}

function must(condition: boolean, problem: string): void {
  if (!condition) throw new Error(problem);
}

function sorted(texts: readonly string[]): readonly string[] {
  return texts.toSorted((a, b) => (a < b ? -1 : 1));
}
