import { request } from "node:http";
import { expect, it } from "vitest";
import { sendRaw } from "./testing/send-raw.ts";
import { P, startApi } from "./testing/start-api.ts";

const EVIL = "https://evil.example.com";

/** What each face of the server answers to a page of another site, which has got hold of a token. */
async function answers() {
  const { server, first, call } = await startApi("none");
  await call("POST", `${P}/stacks`, { body: { name: "one" } });
  const headers = { origin: EVIL, authorization: `Bearer ${first.token}` };
  const ask = async (path: string) => fetch(server.url + path, { redirect: "manual", headers });
  return { server, ask };
}

it("no answer lets a page of another site read it, or says what serves it", async () => {
  const { ask } = await answers();
  const data = [
    `${P}/stacks`,
    "/api/v1/caller",
    "/api/v2/account/details",
    "/state/v1/default/web/one",
    "/v1/none/stacks",
    "/.well-known/terraform.json",
    "/readyz",
  ];
  const others = ["/", "/none", "/metrics", "/openapi.json", "/console/", "/help/"];
  for (const path of [...data, ...others]) {
    const { headers } = await ask(path);
    expect([path, headers.get("x-content-type-options")]).toEqual([path, "nosniff"]);
    for (const name of ["access-control-allow-origin", "server", "x-powered-by"]) {
      expect([path, name, headers.get(name)]).toEqual([path, name, null]);
    }
  }
  for (const path of data) {
    expect([path, (await ask(path)).headers.get("cache-control")]).toEqual([path, "no-store"]);
  }
});

it("no page of the server is shown within another one, or runs what it does not bring", async () => {
  const { ask } = await answers();
  for (const path of ["/console/", "/help/", "/oauth/authorize"]) {
    const { headers } = await ask(path);
    const policy = headers.get("content-security-policy") ?? "";
    const rules = policy.split("; ");
    expect([path, headers.get("content-type")]).toEqual([path, "text/html; charset=utf-8"]);
    expect(rules).toEqual(expect.arrayContaining(["default-src 'none'", "frame-ancestors 'none'"]));
    expect(rules).toEqual(expect.arrayContaining(["base-uri 'none'", "form-action 'none'"]));
    expect(rules.find((rule) => rule.startsWith("script-src")) ?? "script-src 'self'").toBe(
      "script-src 'self'",
    );
    expect(headers.get("referrer-policy")).toBe("no-referrer");
  }
});

it("headers that are too large are refused, and the next request is answered", async () => {
  const { server, ask } = await answers();
  const status = await new Promise<number | undefined>((resolve, reject) => {
    const headers = { "x-large": "x".repeat(20_000) };
    request(`${server.url}/readyz`, { headers, agent: false }, (response) => {
      response.resume();
      resolve(response.statusCode);
    })
      .on("error", reject)
      .end();
  });
  expect(status).toBe(431);
  expect((await ask("/readyz")).status).toBe(200);
});

it("a request with two credentials is refused by each face, whichever of them is valid and comes first", async () => {
  const { server, first, call, tokenOf } = await startApi("none", { openMetrics: false });
  await call("POST", `${P}/stacks`, { body: { name: "one" } });
  const reader = await tokenOf("reader");
  const bearer = (token: string) => ["authorization", `Bearer ${token}`] as const;
  const basic = (token: string) =>
    ["Authorization", `Basic ${Buffer.from(`any:${token}`).toString("base64")}`] as const;
  const inOwn = (token: string) => ["x-auth-token", token] as const;
  const [admin, other, none] = [first.token, reader, "none"];
  const pairs = [
    [bearer(admin), bearer(admin)],
    [bearer(admin), bearer(other)],
    [bearer(none), bearer(admin)],
    [bearer(admin), bearer(none)],
    [bearer(admin), basic(other)],
    [basic(admin), basic(other)],
    [basic(other), bearer(admin)],
    [bearer(admin), inOwn(other)],
    [inOwn(admin), bearer(none)],
    [inOwn(admin), basic(other)],
    [inOwn(admin), inOwn(admin)],
  ] as const;
  const faces = [
    "/api/v1/caller",
    `${P}/stacks`,
    "/api/v1/registry/credentials",
    "/terraform/v1/modules/acme/net/aws/versions",
    "/api/v2/account/details",
    "/state/v1/default/web/one",
    "/v1/none/stacks",
    "/v1/private-providers",
    "/metrics",
  ];
  for (const path of faces) {
    for (const pair of pairs) {
      const { status } = await sendRaw(server.url + path, pair);
      expect([path, pair, status]).toEqual([path, pair, 401]);
    }
  }
  // One of them alone is good, and a token elsewhere is none.
  for (const path of ["/api/v1/caller", "/metrics"]) {
    expect((await sendRaw(server.url + path, [bearer(admin)])).status).toBe(200);
  }
  for (const name of ["token", "access_token", "authorization"]) {
    const path = `/api/v1/caller?${name}=${admin}`;
    expect((await sendRaw(server.url + path, [])).status).toBe(401);
  }
});
