import { request } from "node:http";
import { expect, it } from "vitest";
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
