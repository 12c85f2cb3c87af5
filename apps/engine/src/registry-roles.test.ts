import { randomUUID } from "node:crypto";
import { expect, it } from "vitest";
import { allOperationsOf, operationsOf } from "./testing/api-document.ts";
import { startApi } from "./testing/start-api.ts";

/** The lowest role that may call an operation of the registry; all above it may. `all` is without a token as well. */
const LOWEST = {
  "POST /v1/private-providers": "publisher",
  "GET /v1/private-providers": "reader",
  "GET /v1/private-providers/{provider_name}/metadata": "reader",
  "PATCH /v1/private-providers/{provider_name}/metadata": "publisher",
  "GET /v1/private-providers/{provider_name}": "reader",
  "DELETE /v1/private-providers/{provider_name}": "publisher",
  "POST /v1/private-providers/{provider_name}/versions": "publisher",
  "GET /v1/private-providers/{provider_name}/versions": "reader",
  "GET /v1/private-providers/{provider_name}/versions/{provider_version}/metadata": "reader",
  "DELETE /v1/private-providers/{provider_name}/versions/{provider_version}": "publisher",
  "GET /.well-known/terraform.json": "all",
  // What installs: a worker does it for its runs.
  "GET /terraform/v1/providers/{namespace}/{type}/versions": "worker",
  "GET /terraform/v1/providers/{namespace}/{type}/{version}/download/{os}/{arch}": "worker",
  "GET /terraform/v1/mirror/{hostname}/{namespace}/{type}/{*}": "worker",
  "GET /terraform/v1/files/{token}/{filename}": "all",
  "GET /api/v1/registry/namespaces": "admin",
  "PUT /api/v1/registry/namespaces/{namespace}": "admin",
  "DELETE /api/v1/registry/namespaces/{namespace}": "admin",
  "POST /api/v1/registry/namespaces/{namespace}/transfer": "admin",
  "PUT /api/v1/registry/providers/{namespace}/{type}/{version}/{platform}": "publisher",
  "PATCH /api/v1/registry/providers/{namespace}/{type}/{version}": "publisher",
  "DELETE /api/v1/registry/providers/{namespace}/{type}/{version}": "publisher",
  "GET /api/v1/registry/private-providers/{name}/uses": "reader",
  "PUT /api/v1/registry/private-providers/{name}/versions/{version}/uses": "deployer",
  "DELETE /api/v1/registry/private-providers/{name}/versions/{version}/uses": "deployer",
  "GET /api/v1/registry/private-providers/{name}/versions/{version}/health": "reader",
  "POST /api/v1/registry/private-providers/{name}/versions/{version}/checks": "publisher",
  "POST /api/v1/registry/function-checks": "publisher",
  "GET /api/v1/registry/audit": "admin",
  "GET /api/v1/registry/credentials": "admin",
  "POST /api/v1/registry/access-keys": "admin",
  "POST /api/v1/registry/tokens": "admin",
  "POST /api/v1/registry/access-keys/{actor}/rotation": "admin",
  "DELETE /api/v1/registry/credentials/{actor}": "admin",
  "GET /healthz": "all",
  "GET /readyz": "all",
  "GET /metrics": "all",
} as const;
const RANKS = ["worker", "reader", "planner", "deployer", "publisher", "admin"] as const;

it("each operation of the registry is allowed to the roles of the table, and to no other", {
  timeout: 120_000,
}, async () => {
  const { server, call, tokenOf } = await startApi("none");
  const document = (await call("GET", "/openapi.json")).json;
  const own = new Set(operationsOf(document).map(({ method, path }) => `${method} ${path}`));
  const names = allOperationsOf(document)
    .map(({ method, path }) => `${method} ${path}`)
    .filter((name) => !own.has(name));
  expect(names.toSorted()).toEqual(Object.keys(LOWEST).toSorted());
  const tokens = await Promise.all(RANKS.map(async (role) => tokenOf(role)));
  const found: string[] = [];
  const expected: string[] = [];
  for (const [name, lowest] of Object.entries(LOWEST)) {
    const [method = "", template = ""] = name.split(" ");
    const path = template.replaceAll(/\{[^}]+\}/g, "none");
    const statusOf = async (token?: string): Promise<number> => {
      const answer = await fetch(server.url + path, {
        method,
        headers: {
          "client-request-id": randomUUID(),
          ...(token !== undefined && { authorization: `Bearer ${token}` }),
        },
        redirect: "manual",
      });
      await answer.body?.cancel();
      return answer.status;
    };
    const stranger = await statusOf();
    found.push(`${name} stranger ${stranger === 401 ? "denied" : "allowed"}`);
    expected.push(`${name} stranger ${lowest === "all" ? "allowed" : "denied"}`);
    const least = lowest === "all" ? 0 : RANKS.indexOf(lowest);
    for (const [rank, role] of RANKS.entries()) {
      // The requests have no body, and name nothing that is there.
      const status = await statusOf(tokens[rank]);
      found.push(`${name} ${role} ${status === 403 && lowest !== "all" ? "denied" : "allowed"}`);
      expected.push(`${name} ${role} ${rank >= least ? "allowed" : "denied"}`);
      expect([name, role, status === 401 || status >= 500]).toEqual([name, role, false]);
    }
  }
  expect(found).toEqual(expected);
});
