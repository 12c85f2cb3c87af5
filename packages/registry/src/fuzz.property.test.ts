import { createMemoryStorage } from "@stackwright/storage/memory";
import fc from "fast-check";
import type { RouteOptions } from "fastify";
import type { TSchema } from "typebox";
import { Value } from "typebox/value";
import { expect, it } from "vitest";
import { ROLES } from "./access/principal.ts";
import { rfsPlugin } from "./rfs/rfs-plugin.ts";
import { stackwrightApiPlugin } from "./stackwright-api/stackwright-api-plugin.ts";
import { publishPlugin } from "./terraform/publish-plugin.ts";
import { terraformPlugin } from "./terraform/terraform-plugin.ts";
import { createRegistryFixture, TEST_CONTEXT, TEST_REGION } from "./testing/registry-fixture.ts";
import { arbitraryFor, NASTY, SAMPLE_URN } from "./testing/schema-arbitrary.ts";

const RUNS = Math.round(60 * Number(process.env["STACKWRIGHT_RUNS"] ?? 1));

/** What the generated requests may hit: names that exist, beside those that are generated. */
const KNOWN: Readonly<Record<string, readonly string[]>> = {
  provider_name: ["hello"],
  name: ["hello"],
  provider_version: ["1.0.0"],
  version: ["1.0.0"],
  namespace: ["acme", "private-provider"],
  type: ["thing", "hello"],
  platform: ["linux_amd64"],
  hostname: ["huawei.com", "registry.example"],
  os: ["linux"],
  arch: ["amd64"],
  "*": ["index.json", "1.0.0.json"],
};

it(
  "no request that schemas or chance make up is answered by a failure of the server, or beside its schema",
  async () => {
    await using storage = createMemoryStorage();
    await using fixture = await createRegistryFixture(storage, {
      maxProviders: 10_000,
      maxVersionsPerProvider: 10_000,
    });
    const { registry, authenticator, credentials } = fixture;
    const common = { registry, authenticator, region: TEST_REGION };
    const server = fixture.server();
    const routes: RouteOptions[] = [];
    server.addHook("onRoute", (route) => void routes.push(route));
    await server.register(rfsPlugin, { ...common, prefix: "/v1" });
    await server.register(terraformPlugin, { ...common, mirrorHosts: ["registry.example"] });
    await server.register(publishPlugin, { ...common, prefix: "/api/v1/registry" });
    await server.register(stackwrightApiPlugin, {
      ...common,
      credentials,
      prefix: "/api/v1/registry",
    });
    const scope = { account: "acme", region: TEST_REGION };
    const restore = async (): Promise<void> => {
      const input = { name: "hello", version: "1.0.0", functionUrn: SAMPLE_URN };
      // Generated requests may have deleted it.
      await registry.createProvider(scope, input, TEST_CONTEXT).catch(() => undefined);
    };
    const callers = fc.oneof(
      { weight: 6, arbitrary: fc.constant(["operator"] as const) },
      fc.subarray([...ROLES], { minLength: 1 }),
      fc.constant(undefined),
    );

    expect(routes.length).toBeGreaterThan(35);
    const statuses = new Set<number>();
    for (const route of routes) {
      const method = route.method as "GET" | "POST" | "PUT" | "PATCH" | "DELETE" | "HEAD";
      const schema = (route.schema ?? {}) as Record<string, TSchema | undefined>;
      const names = [...route.url.matchAll(/:([a-z_]+)|\*/g)].map(([all, name]) => name ?? all);
      const params = fc.record(
        Object.fromEntries(
          names.map((name) => [
            name,
            fc.oneof(
              { weight: 4, arbitrary: fc.constantFrom(...(KNOWN[name] ?? ["x"])) },
              fc.constantFrom(...NASTY),
              // A path with "." or ".." as a segment is the address of another route.
              fc.string({ minLength: 1, maxLength: 80 }).filter((text) => !/^\.\.?$/.test(text)),
            ),
          ]),
        ),
      );
      const requests = fc.record({
        params,
        query: fc.option(arbitraryFor(schema["querystring"])),
        body: fc.option(arbitraryFor(schema["body"])),
        roles: callers,
        requestId: fc.oneof(
          { weight: 6, arbitrary: fc.constant("8f14e45f-ceea-467f-a9a7-d5b1d9e2b9a1") },
          fc.constantFrom("x", "é".repeat(40), ""),
        ),
      });
      await fc.assert(
        fc.asyncProperty(requests, async ({ params, query, body, roles, requestId }) => {
          await restore();
          const path = route.url.replace(/:([a-z_]+)|\*/g, (all, name?: string) =>
            encodeURIComponent(params[name ?? all] ?? ""),
          );
          const hasBody = body !== null && !["GET", "HEAD"].includes(method);
          const answer = await server.inject({
            method,
            url: `${path}${query === null ? "" : `?${queryText(query)}`}`,
            headers: {
              ...(roles && (await fixture.authorization("acme", ...roles))),
              "client-request-id": requestId.replaceAll(/[^ -~]/g, "?"),
              ...(hasBody ? { "content-type": "application/json" } : {}),
            },
            ...(hasBody ? { payload: JSON.stringify(body) ?? "" } : {}),
          });
          const { statusCode } = answer;
          statuses.add(statusCode);
          expect(statusCode, `${method} ${path}: ${answer.body}`).toBeLessThan(500);
          const response = (schema["response"] as Record<number, TSchema> | undefined)?.[
            statusCode
          ];
          if (response === undefined || method === "HEAD" || answer.body === "") return;
          const errors = Value.Errors(response, answer.json());
          expect(errors, `${method} ${path}: ${answer.body}`).toEqual([]);
        }),
        { numRuns: RUNS },
      );
    }
    // The requests are neither all refused nor all alike. Conflicts (409) are too rare to be among those of every seed.
    expect([...statuses]).toEqual(expect.arrayContaining([200, 201, 204, 400, 401, 403, 404]));
  },
  120_000 * Math.max(1, RUNS / 60),
);

function queryText(query: unknown): string {
  const pairs = typeof query === "object" && query !== null ? Object.entries(query) : [];
  return pairs
    .flatMap(([name, value]) =>
      (Array.isArray(value) ? value : [value]).map(
        (one) =>
          `${encodeURIComponent(name)}=${encodeURIComponent(typeof one === "string" ? one : (JSON.stringify(one) ?? ""))}`,
      ),
    )
    .join("&");
}
