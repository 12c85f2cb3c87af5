import { createHash } from "node:crypto";
import { mkdtempDisposable, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { PolicyResult } from "@stackwright/proto/stackwright";
import type { StorageBackend } from "@stackwright/storage";
import { workspaceId } from "@stackwright/tfe";
import { expect, it, onTestFinished, vi } from "vitest";
import { runPlace } from "./domain/run-places.ts";
import { SERVER_KINDS } from "./domain/server-kinds.ts";
import { allOperationsOf } from "./testing/api-document.ts";
import { filledPath } from "./testing/filled-path.ts";
import { type NotedRoute, noteRoutes } from "./testing/note-routes.ts";
import { createRunFixture } from "./testing/run-fixture.ts";
import { P, startApi } from "./testing/start-api.ts";
import { tarOf } from "./testing/tar-of.ts";

/**
 * What the routes that the OpenAPI document does not have answer to a token of all of the account, to one that is limited to another
 * stack of the project, to one that is limited to another project, to one of another account (all of admins), to a reader, and without a token.
 */
const EXPECTED: Readonly<Record<string, string>> = {
  // For all who ask: pages, sign-ins and the keys of the server.
  "GET /.well-known/openid-configuration": "200 200 200 200 200 200",
  "GET /.well-known/jwks": "200 200 200 200 200 200",
  "GET /app/:organization/:workspace/runs/:run": "302 302 302 302 302 302",
  "GET /app/settings/tokens": "302 302 302 302 302 302",
  "GET /app/:organization/workspaces": "302 302 302 302 302 302",
  "GET /app": "302 302 302 302 302 302",
  "GET /app/:organization": "302 302 302 302 302 302",
  "GET /app/:organization/*": "302 302 302 302 302 302",
  "GET /oauth/authorize": "400 400 400 400 400 400",
  "POST /oauth/authorize": "400 400 400 400 400 400",
  "POST /oauth/token": "400 400 400 400 400 400",
  "GET /auth/providers": "200 200 200 200 200 200",
  "GET /auth/login/:provider": "404 404 404 404 404 404",
  "GET /auth/callback/:provider": "404 404 404 404 404 404",
  "POST /auth/codes": "201 201 201 201 201 401",
  "POST /auth/code/owner": "403 403 403 403 403 403",
  "POST /auth/code": "403 403 403 403 403 403",
  "GET /auth/session": "204 204 204 204 204 204",
  "POST /auth/logout": "204 204 204 204 204 204",
  "POST /oauth/device/code": "400 400 400 400 400 400",
  "POST /oauth/device/token": "400 400 400 400 400 400",
  "GET /oauth/device": "200 200 200 200 200 200",
  "POST /oauth/device": "401 401 401 401 401 401",
  "POST /oauth/device/decision": "401 401 401 401 401 401",
  "GET /": "404 404 404 404 404 404",
  "GET /console": "301 301 301 301 301 301",
  "GET /console/*": "200 200 200 200 200 200",
  "GET /help": "301 301 301 301 301 301",
  "GET /help/*": "404 404 404 404 404 404",
  "GET /openapi.json": "200 200 200 200 200 200",
  "GET /docs": "200 200 200 200 200 200",
  // Their senders prove themselves by a signature of the body, whatever token they have.
  "POST /hooks/vcs/:account/:project/:connection": "401 401 401 401 401 401",
  "POST /hooks/drift/:account/:project/:hook": "401 401 401 401 401 401",
  // Variables of workspaces, and sets of variables.
  "GET /api/v2/workspaces/:workspace/vars/:variable": "200 403 404 404 200 401",
  "POST /api/v2/workspaces/:workspace/vars": "201 403 404 404 403 401",
  "PATCH /api/v2/workspaces/:workspace/vars/:variable": "200 403 404 404 403 401",
  "DELETE /api/v2/workspaces/:workspace/vars/:variable": "204 403 404 404 403 401",
  "GET /api/v2/workspaces/:workspace/varsets": "200 403 404 404 200 401",
  "GET /api/v2/projects/:project/varsets": "200 403 404 200 200 401",
  "GET /api/v2/organizations/:organization/varsets": "200 403 200 404 200 401",
  "POST /api/v2/organizations/:organization/varsets": "201 403 403 404 403 401",
  "GET /api/v2/varsets/:set": "200 403 404 404 200 401",
  "PATCH /api/v2/varsets/:set": "200 403 404 404 403 401",
  "DELETE /api/v2/varsets/:set": "204 403 404 404 403 401",
  "GET /api/v2/varsets/:set/relationships/vars": "200 403 404 404 200 401",
  "POST /api/v2/varsets/:set/relationships/vars": "201 403 404 404 403 401",
  "GET /api/v2/varsets/:set/relationships/vars/:variable": "200 403 404 404 200 401",
  "PATCH /api/v2/varsets/:set/relationships/vars/:variable": "200 403 404 404 403 401",
  "DELETE /api/v2/varsets/:set/relationships/vars/:variable": "204 403 404 404 403 401",
  "POST /api/v2/varsets/:set/relationships/workspaces": "204 403 404 404 403 401",
  "DELETE /api/v2/varsets/:set/relationships/workspaces": "204 403 404 404 403 401",
  "POST /api/v2/varsets/:set/relationships/projects": "204 403 404 404 403 401",
  "DELETE /api/v2/varsets/:set/relationships/projects": "204 403 404 404 403 401",
  // What runs of all stacks install from. No upstream registry answers here.
  "GET /terraform/v1/modules/:namespace/:name/:system/versions": "200 200 200 404 200 401",
  "GET /terraform/v1/modules/:namespace/:name/:system/:version/download": "204 204 204 404 204 401",
  "GET /terraform/v1/module-archives/:signed/:file": "200 403 403 403 403 403",
  "GET /terraform/v1/upstream/:hostname/:namespace/:type/:file": "502 502 502 502 502 401",
  "GET /terraform/v1/upstream-providers/:hostname/:namespace/:type/versions":
    "502 502 502 502 502 401",
  "GET /terraform/v1/upstream-providers/:hostname/:namespace/:type/:version/download/:os/:arch":
    "502 502 502 502 502 401",
  "GET /terraform/v1/providers/theirs/:type/versions": "502 502 502 502 502 401",
  "GET /terraform/v1/providers/theirs/:type/:version/download/:os/:arch": "502 502 502 502 502 401",
  "GET /terraform/v1/mirror/:hostname/theirs/:type/:file": "404 404 404 404 404 404",
  "GET /terraform/v1/upstream-packages/:signed/:name": "403 403 403 403 403 403",
  // The RFS API. Stack sets, and what the service has that this server has not, belong to the account.
  "POST /v1/:project_id/stacks": "201 403 403 201 403 401",
  "GET /v1/:project_id/stacks": "200 200 403 200 200 401",
  "GET /v1/:project_id/stacks/:stack_name/metadata": "200 404 403 404 200 401",
  "PATCH /v1/:project_id/stacks/:stack_name": "204 404 403 404 403 401",
  "POST /v1/:project_id/stacks/:stack_name/deployments": "202 404 403 404 403 401",
  "POST /v1/:project_id/stacks/:stack_name/continuations": "403 404 403 404 403 401",
  "POST /v1/:project_id/stacks/:stack_name/rollbacks": "403 404 403 404 403 401",
  "POST /v1/:project_id/stacks/:stack_name/deletion": "403 404 403 404 403 401",
  "GET /v1/:project_id/stacks/:stack_name/events": "200 404 403 404 200 401",
  "GET /v1/:project_id/stacks/:stack_name/outputs": "200 404 403 404 200 401",
  "GET /v1/:project_id/stacks/:stack_name/resources": "200 404 403 404 200 401",
  "GET /v1/:project_id/stacks/:stack_name/templates": "404 404 403 404 404 401",
  "POST /v1/:project_id/stacks/:stack_name/execution-plans": "403 404 403 404 403 401",
  "GET /v1/:project_id/stacks/:stack_name/execution-plans": "200 404 403 404 200 401",
  "GET /v1/:project_id/stacks/:stack_name/execution-plans/:execution_plan_name":
    "200 404 403 404 200 401",
  "GET /v1/:project_id/stacks/:stack_name/execution-plans/:execution_plan_name/metadata":
    "200 404 403 404 200 401",
  "POST /v1/:project_id/stacks/:stack_name/execution-plans/:execution_plan_name":
    "403 404 403 404 403 401",
  "GET /v1/:project_id/stacks/:stack_name/execution-plans/:execution_plan_name/prices":
    "501 404 403 404 501 401",
  "POST /v1/:project_id/template-analyses/variables": "200 403 403 200 403 401",
  "GET /v1/:project_id/templates": "200 403 403 200 200 401",
  "POST /v1/:project_id/templates": "200 403 403 200 403 401",
  "GET /v1/:project_id/templates/:template_name/metadata": "200 403 403 404 200 401",
  "PATCH /v1/:project_id/templates/:template_name/metadata": "204 403 403 404 403 401",
  "GET /v1/:project_id/templates/:template_name/versions": "200 403 403 404 200 401",
  "POST /v1/:project_id/templates/:template_name/versions": "200 403 403 404 403 401",
  "GET /v1/:project_id/templates/:template_name/versions/:version_id/metadata":
    "200 403 403 404 200 401",
  "GET /v1/:project_id/templates/:template_name/versions/:version_id": "307 403 403 404 307 401",
  "POST /v1/stack-sets": "201 403 403 201 403 401",
  "GET /v1/stack-sets": "200 403 403 200 200 401",
  "GET /v1/stack-sets/:stack_set_name/metadata": "200 403 403 404 200 401",
  "GET /v1/stack-sets/:stack_set_name/templates": "307 403 403 404 307 401",
  "PATCH /v1/stack-sets/:stack_set_name": "204 403 403 404 403 401",
  "POST /v1/stack-sets/:stack_set_name/stack-instances": "202 403 403 404 403 401",
  "PATCH /v1/stack-sets/:stack_set_name/stack-instances": "403 403 403 404 400 401",
  "POST /v1/stack-sets/:stack_set_name/stack-instances/deletion": "403 403 403 404 400 401",
  "POST /v1/stack-sets/:stack_set_name/deployments": "403 403 403 404 403 401",
  "GET /v1/stack-sets/:stack_set_name/stack-instances": "200 403 403 404 200 401",
  "GET /v1/stack-sets/:stack_set_name/stack-instances/:stack_instance_addr":
    "200 403 403 404 404 401",
  "GET /v1/stack-sets/:stack_set_name/stack-instances/:region/:project": "200 403 403 404 404 401",
  "GET /v1/stack-sets/:stack_set_name/operations": "200 403 403 404 200 401",
  "GET /v1/stack-sets/:stack_set_name/operations/:stack_set_operation_id/metadata":
    "404 403 403 404 404 401",
  "GET /v1/private-modules": "400 403 403 400 400 401",
  "POST /v1/private-modules": "400 403 403 400 400 401",
  "GET /v1/private-modules/:module_name/metadata": "400 403 403 400 400 401",
  "PATCH /v1/private-modules/:module_name/metadata": "400 403 403 400 400 401",
  "GET /v1/private-modules/:module_name/versions": "400 403 403 400 400 401",
  "POST /v1/private-modules/:module_name/versions": "400 403 403 400 400 401",
  "GET /v1/private-modules/:module_name/versions/:module_version": "400 403 403 400 400 401",
  "GET /v1/private-modules/:module_name/versions/:module_version/metadata":
    "400 403 403 400 400 401",
  "GET /v1/private-hooks": "400 403 403 400 400 401",
  "POST /v1/private-hooks": "400 403 403 400 400 401",
  "GET /v1/private-hooks/:hook_name/metadata": "400 403 403 400 400 401",
  "PATCH /v1/private-hooks/:hook_name/metadata": "400 403 403 400 400 401",
  "GET /v1/private-hooks/:hook_name/versions": "400 403 403 400 400 401",
  "POST /v1/private-hooks/:hook_name/versions": "400 403 403 400 400 401",
  "GET /v1/private-hooks/:hook_name/versions/:hook_version/metadata": "400 403 403 400 400 401",
  "GET /v1/private-hooks/:hook_name/versions/:hook_version/policies": "400 403 403 400 400 401",
  "GET /v1/template-contents/:signed": "200 403 403 403 403 403",
  "DELETE /v1/:project_id/stacks/:stack_name/execution-plans/:execution_plan_name":
    "403 404 403 404 403 401",
  "DELETE /v1/:project_id/templates/:template_name/versions/:version_id": "204 403 403 404 403 401",
  "DELETE /v1/private-modules/:module_name/versions/:module_version": "400 403 403 400 400 401",
  "DELETE /v1/private-hooks/:hook_name/versions/:hook_version": "400 403 403 400 400 401",
  "DELETE /v1/:project_id/stacks/:stack_name": "403 404 403 404 403 401",
  "DELETE /v1/:project_id/templates/:template_name": "204 403 403 404 403 401",
  "DELETE /v1/stack-sets/:stack_set_name/stack-instances": "403 403 403 404 400 401",
  "DELETE /v1/stack-sets/:stack_set_name": "403 403 403 404 403 401",
  "DELETE /v1/private-modules/:module_name": "400 403 403 400 400 401",
  "DELETE /v1/private-hooks/:hook_name": "400 403 403 400 400 401",
  // The `http` backend: 404 would be "no state yet" for its commands.
  "GET /state/v1/:account/:project/:stack": "200 403 403 403 403 401",
  "POST /state/v1/:account/:project/:stack": "200 403 403 403 403 401",
  "PUT /state/v1/:account/:project/:stack": "200 403 403 403 403 401",
  "LOCK /state/v1/:account/:project/:stack": "200 403 403 403 403 401",
  "UNLOCK /state/v1/:account/:project/:stack": "200 403 403 403 403 401",
  "LOCK /state/v1/:account/:project/:stack/lock": "200 403 403 403 403 401",
  "PUT /state/v1/:account/:project/:stack/lock": "200 403 403 403 403 401",
  "POST /state/v1/:account/:project/:stack/lock": "200 403 403 403 403 401",
  "UNLOCK /state/v1/:account/:project/:stack/lock": "200 403 403 403 403 401",
  "DELETE /state/v1/:account/:project/:stack/lock": "200 403 403 403 403 401",
  "DELETE /state/v1/:account/:project/:stack": "200 403 403 403 403 401",
  // The API of the `cloud` block, which is not for tokens of stacks.
  "GET /api/v2/ping": "204 204 204 204 204 204",
  "GET /api/v2/account/details": "200 403 200 200 200 401",
  "GET /api/v2/organizations": "200 403 200 200 200 401",
  "GET /api/v2/organizations/:organization": "200 403 200 404 200 401",
  "GET /api/v2/organizations/:organization/entitlement-set": "200 403 200 404 200 401",
  "GET /api/v2/organizations/:organization/projects": "200 403 200 404 200 401",
  "POST /api/v2/organizations/:organization/projects": "201 403 403 404 403 401",
  "GET /api/v2/organizations/:organization/workspaces": "200 403 200 404 200 401",
  "POST /api/v2/organizations/:organization/workspaces": "201 403 404 404 403 401",
  "GET /api/v2/organizations/:organization/workspaces/:name": "200 403 404 404 200 401",
  "GET /api/v2/workspaces/:workspace": "200 403 404 404 200 401",
  "PATCH /api/v2/organizations/:organization/workspaces/:name": "200 403 404 404 403 401",
  "PATCH /api/v2/workspaces/:workspace": "200 403 404 404 403 401",
  "POST /api/v2/organizations/:organization/workspaces/:name/actions/safe-delete":
    "409 403 404 404 403 401",
  "POST /api/v2/workspaces/:workspace/actions/safe-delete": "409 403 404 404 403 401",
  "POST /api/v2/workspaces/:workspace/actions/lock": "200 403 404 404 403 401",
  "POST /api/v2/workspaces/:workspace/actions/unlock": "200 403 404 404 403 401",
  "POST /api/v2/workspaces/:workspace/actions/force-unlock": "409 403 404 404 403 401",
  "GET /api/v2/workspaces/:workspace/tag-bindings": "200 403 404 404 200 401",
  "PATCH /api/v2/workspaces/:workspace/tag-bindings": "200 403 404 404 403 401",
  "POST /api/v2/workspaces/:workspace/relationships/tags": "204 403 404 404 403 401",
  "GET /api/v2/workspaces/:workspace/current-state-version": "200 403 404 404 403 401",
  "POST /api/v2/workspaces/:workspace/state-versions": "201 403 404 404 403 401",
  "PUT /api/v2/state-upload/:signed": "200 403 403 403 403 403",
  "PUT /api/v2/json-state-upload/:signed": "200 403 403 403 403 403",
  "GET /api/v2/state-content/:signed": "200 403 403 403 403 403",
  "GET /api/v2/state-versions": "200 403 404 404 403 401",
  "GET /api/v2/state-versions/:version": "200 403 404 404 403 401",
  "GET /api/v2/workspaces/:workspace/current-state-version-outputs": "200 403 404 404 200 401",
  "GET /api/v2/state-versions/:version/outputs": "200 403 404 404 200 401",
  "GET /api/v2/state-version-outputs/:output": "200 403 404 404 200 401",
  "POST /api/v2/workspaces/:workspace/configuration-versions": "201 403 404 404 403 401",
  "PUT /api/v2/configuration-upload/:signed": "422 403 403 403 403 403",
  "GET /api/v2/configuration-versions/:upload": "200 403 404 404 200 401",
  "POST /api/v2/runs": "422 403 404 404 403 401",
  "GET /api/v2/runs/:run": "200 403 404 404 200 401",
  "GET /api/v2/runs/:run/run-events": "200 403 404 404 200 401",
  "GET /api/v2/workspaces/:workspace/runs": "200 403 404 404 200 401",
  "GET /api/v2/policy-checks/:check": "200 403 404 404 200 401",
  "GET /api/v2/policy-checks/:check/output": "200 403 404 404 200 401",
  "POST /api/v2/policy-checks/:check/actions/override": "409 403 404 404 403 401",
  "POST /api/v2/runs/:run/actions/apply": "409 403 404 404 403 401",
  "POST /api/v2/runs/:run/actions/discard": "409 403 404 404 403 401",
  "POST /api/v2/runs/:run/actions/cancel": "202 403 404 404 403 401",
  "POST /api/v2/runs/:run/actions/force-cancel": "409 403 404 404 403 401",
  "GET /api/v2/plans/:plan": "200 403 404 404 200 401",
  "GET /api/v2/plans/:plan/json-output": "404 403 404 404 204 401",
  "GET /api/v2/plans/:plan/json-output-redacted": "404 403 404 404 204 401",
  "GET /api/v2/applies/:apply": "200 403 404 404 200 401",
  "GET /api/v2/logs/:signed": "200 403 403 403 403 403",
  "GET /api/v2/workspaces/:workspace/vars": "200 403 404 404 200 401",
  "GET /api/v2/workspaces/:workspace/all-vars": "200 403 404 404 200 401",
  "GET /api/v2/organizations/:organization/runs/queue": "200 403 200 404 200 401",
  "GET /api/v2/organizations/:organization/capacity": "200 403 200 404 200 401",
  "DELETE /api/v2/organizations/:organization/workspaces/:name": "204 403 404 404 403 401",
  "DELETE /api/v2/workspaces/:workspace": "404 403 404 404 403 401",
};

/** What a server writes by itself at any time: its trail, when a token was last used, that it is there, and keys when they are first needed. */
const OWN_KINDS: ReadonlySet<string> = new Set([
  "AuditEntry",
  "AccessToken",
  "Heartbeat",
  "RegistrySecret",
]);
const LIMITED = ["beside", "elsewhere", "stranger", "reader", "none"] as const;
const MAIN = 'resource "terraform_data" "a" { input = "x" }\n';
const RFS = { "client-request-id": "6e0f5f3a-6b6e-4c0e-8a53-0c1d7a1d2b3c" };
const ORGANIZATION = "/api/v2/organizations/default";
const MODULE = "/api/v1/registry/modules/acme/net/aws/1.0.0";
const STATE = JSON.stringify({
  version: 4,
  terraform_version: "1.11.4",
  serial: 1,
  lineage: "line",
  outputs: { word: { value: "x", type: "string" } },
  resources: [],
  check_results: null,
});
const CORP = { name: "corp", issuer: "http://127.0.0.1:1", client_id: "stackwright" };
const LOCK = { ID: "5a8a9a2e-0000-4000-8000-000000000001", Who: "ann", Operation: "" };

type Call = Awaited<ReturnType<typeof startApi>>["call"];
type Answer = Awaited<ReturnType<Call>>;

/** What is written to a store from now on, by kinds. */
function noteWrites(storage: StorageBackend): string[] {
  const kinds: string[] = [];
  const batch = storage.batch.bind(storage);
  const write = storage.writeCAS.bind(storage);
  const remove = storage.deleteCAS.bind(storage);
  vi.spyOn(storage, "batch").mockImplementation(async (operations, options) => {
    for (const one of operations) {
      kinds.push((one.kind === "write" ? one.resource.id : one.id).type.kind);
    }
    return batch(operations, options);
  });
  vi.spyOn(storage, "writeCAS").mockImplementation(async (resource, options) => {
    kinds.push(resource.id.type.kind);
    return write(resource, options);
  });
  vi.spyOn(storage, "deleteCAS").mockImplementation(async (id, version, options) => {
    kinds.push(id.type.kind);
    return remove(id, version, options);
  });
  return kinds;
}

const dataOf = ({ json }: Answer) =>
  json["data"] as { readonly id: string; readonly attributes: Record<string, string> };

/** What a request has beside its method, and the address with which it is answered where the route takes one. */
interface Sent {
  readonly path: string;
  readonly body?: object | string | undefined;
  readonly address?: string | undefined;
}

/**
 * A server whose project `web` has the stack `one` with a run, the stack `kept` with a state of commands, the stack `shop` of the RFS API with an
 * execution plan, a template, a stack set and a module; and the tokens that are limited.
 */
async function start() {
  const routes = noteRoutes();
  const opened: StorageBackend[] = [];
  const scratch = await mkdtempDisposable(join(tmpdir(), "faces-"));
  onTestFinished(() => scratch.remove());
  const signInFile = join(scratch.path, "sign-in.json");
  await writeFile(signInFile, JSON.stringify({ providers: [CORP] }));
  const api = await startApi(
    "none",
    {
      signInFile,
      // Nothing answers there.
      upstreamHosts: ["registry.example.com=https://127.0.0.1:1"],
      upstreamNamespaces: ["theirs=registry.example.com/hashicorp"],
    },
    {},
    {
      plugins: ({ store }) => {
        opened.push(store.storage);
        return [];
      },
    },
  );
  const { server, call, upload, first } = api;
  const [storage] = opened;
  if (storage === undefined) throw new Error("the store was not opened");
  const send = async (method: string, path: string, body?: object): Promise<Answer> => {
    const answer = await call(method, path, { headers: RFS, ...(body && { body }) });
    expect([method, path, answer.status < 300 ? "done" : answer.text]).toEqual([
      method,
      path,
      "done",
    ]);
    return answer;
  };
  const idOf = async (name: string): Promise<string> => {
    // It is a workspace from the first read on.
    await send("GET", `${ORGANIZATION}/workspaces/${name}`);
    return String((await send("GET", `${P}/stacks/${name}`)).json["id"]);
  };

  for (const name of ["one", "kept", "held", "two"]) await send("POST", `${P}/stacks`, { name });
  const { digest: configuration } = (await upload()).json;
  const run = String((await send("POST", `${P}/stacks/one/runs`, { configuration })).json["id"]);
  for (const stack of ["kept", "held"]) {
    await send("POST", `/state/v1/default/web/${stack}`, JSON.parse(STATE) as object);
  }
  await call("PUT", MODULE, { body: Uint8Array.from(gzipSync(tarOf({ "main.tf": MAIN }))) });
  const template = { template_body: MAIN };
  for (const name of ["shop", "depot"]) await send("POST", "/v1/web/stacks", { stack_name: name });
  await send("POST", "/v1/web/stacks/shop/execution-plans", {
    execution_plan_name: "next",
    ...template,
  });
  await send("POST", "/v1/web/templates", { template_name: "base", ...template });
  await send("POST", "/v1/stack-sets", { stack_set_name: "shops", ...template });

  const [one, kept, held] = [await idOf("one"), await idOf("kept"), await idOf("held")];
  const reference = { stack: { account: "default", project: "web", stack: one }, run };
  const result = PolicyResult.fromPartial({ sets: [{ set: "security" }] });
  await createRunFixture(storage).put(SERVER_KINDS.policyResult, runPlace(reference), result);

  const { attributes: current } = dataOf(
    await send("GET", `/api/v2/workspaces/ws-${kept}/current-state-version`),
  );
  const version = `${kept}-1-${current["md5"]}`;
  await send("POST", `/api/v2/workspaces/ws-${held}/actions/lock`, { reason: "a test" });
  const next = STATE.replace('"serial":1', '"serial":2');
  const md5 = createHash("md5").update(next).digest("hex");
  const announced = dataOf(
    await send("POST", `/api/v2/workspaces/ws-${held}/state-versions`, {
      data: { attributes: { serial: 2, md5 } },
    }),
  );
  const { id: cv, attributes: configured } = dataOf(
    await send("POST", `/api/v2/workspaces/ws-${one}/configuration-versions`, { data: {} }),
  );
  const variable = (key: string) => ({
    data: { type: "vars", attributes: { key, value: "x", category: "terraform" } },
  });
  const { id: set } = dataOf(
    await send("POST", `${ORGANIZATION}/varsets`, {
      data: { type: "varsets", attributes: { name: "shared", global: false } },
    }),
  );
  const { id: variableOfSet } = dataOf(
    await send("POST", `/api/v2/varsets/${set}/relationships/vars`, variable("first")),
  );
  const { id: ownVariable } = dataOf(
    await send("POST", `/api/v2/workspaces/ws-${held}/vars`, variable("first")),
  );
  const projects = (await call("GET", `${ORGANIZATION}/projects`)).json["data"];
  const [project] = projects as readonly { readonly id: string }[];
  const { attributes: plan } = dataOf(await send("GET", `/api/v2/plans/plan-${one}-${run}`));
  const leadsTo = async (path: string, header: string): Promise<string> => {
    const answer = await fetch(server.url + path, {
      redirect: "manual",
      headers: { ...RFS, authorization: `Bearer ${first.token}` },
    });
    return answer.headers.get(header) ?? "";
  };
  const archive = await leadsTo(
    "/terraform/v1/modules/acme/net/aws/1.0.0/download",
    "x-terraform-get",
  );
  const content = await leadsTo("/v1/web/templates/base/versions/V1", "location");

  const names: Readonly<Record<string, string>> = {
    account: "default",
    organization: "default",
    project_id: "web",
    stack: "kept",
    stack_name: "depot",
    execution_plan_name: "next",
    template_name: "base",
    version_id: "V1",
    stack_set_name: "shops",
    stack_instance_addr: "eu%2Fweb",
    region: "eu",
    workspace: `ws-${one}`,
    run: `run-${one}-${run}`,
    plan: `plan-${one}-${run}`,
    apply: `apply-${one}-${run}`,
    check: `polchk-${one}-${run}`,
    upload: cv,
    set,
    variable: ownVariable,
    output: `wsout-sv-${version}.${Buffer.from("word").toString("base64url")}`,
    version: "1.0.0",
    hostname: "registry.example.com",
    file: "index.json",
    os: "linux",
    arch: "amd64",
    signed: "abc.def",
  };
  const addresses: Readonly<Record<string, string | undefined>> = {
    "PUT /api/v2/state-upload/:signed": announced.attributes["hosted-state-upload-url"],
    "PUT /api/v2/json-state-upload/:signed": announced.attributes["hosted-json-state-upload-url"],
    "GET /api/v2/state-content/:signed": current["hosted-state-download-url"],
    "PUT /api/v2/configuration-upload/:signed": configured["upload-url"],
    "GET /api/v2/logs/:signed": plan["log-read-url"],
    "GET /terraform/v1/module-archives/:signed/:file": server.url + archive,
    "GET /v1/template-contents/:signed": new URL(content, server.url).href,
  };
  const runOf = {
    workspace: { data: { id: `ws-${one}` } },
    "configuration-version": { data: { id: cv } },
  };
  const changed = { data: { type: "vars", attributes: { value: "y" } } };
  const workspaces = { data: [{ type: "workspaces", id: `ws-${held}` }] };
  const ofProjects = { data: [{ type: "projects", id: project?.id ?? "" }] };
  const targets = { deployment_targets: { regions: ["eu"], domain_ids: ["web"] } };
  const bodies: Readonly<Record<string, object | string>> = {
    "POST /state/v1/:account/:project/:stack": STATE,
    "PUT /state/v1/:account/:project/:stack": STATE,
    "POST /v1/:project_id/stacks": { stack_name: "more" },
    "PATCH /v1/:project_id/stacks/:stack_name": { description: "x" },
    "POST /v1/:project_id/stacks/:stack_name/deployments": template,
    "POST /v1/:project_id/stacks/:stack_name/execution-plans": {
      execution_plan_name: "more",
      ...template,
    },
    "POST /v1/:project_id/template-analyses/variables": template,
    "POST /v1/:project_id/templates": { template_name: "more", ...template },
    "PATCH /v1/:project_id/templates/:template_name/metadata": { template_description: "x" },
    "POST /v1/:project_id/templates/:template_name/versions": { template_body: `${MAIN}\n` },
    "POST /v1/stack-sets": { stack_set_name: "more", ...template },
    "PATCH /v1/stack-sets/:stack_set_name": { stack_set_description: "x" },
    "POST /v1/stack-sets/:stack_set_name/stack-instances": targets,
    "PATCH /v1/stack-sets/:stack_set_name/stack-instances": targets,
    "POST /v1/stack-sets/:stack_set_name/stack-instances/deletion": targets,
    "DELETE /v1/stack-sets/:stack_set_name/stack-instances": targets,
    "POST /v1/stack-sets/:stack_set_name/deployments": template,
    "POST /api/v2/organizations/:organization/projects": { data: { attributes: { name: "new" } } },
    "POST /api/v2/organizations/:organization/workspaces": {
      data: { attributes: { name: "new" } },
    },
    "PATCH /api/v2/workspaces/:workspace/tag-bindings": {
      data: [{ attributes: { key: "a", value: "b" } }],
    },
    "POST /api/v2/workspaces/:workspace/relationships/tags": {
      data: [{ attributes: { name: "a" } }],
    },
    "POST /api/v2/workspaces/:workspace/state-versions": {
      data: { attributes: { serial: 2, md5 } },
    },
    "POST /api/v2/runs": { data: { relationships: runOf } },
    "POST /api/v2/organizations/:organization/varsets": {
      data: { type: "varsets", attributes: { name: "more" } },
    },
    "PATCH /api/v2/varsets/:set": { data: { type: "varsets", attributes: { description: "x" } } },
    "POST /api/v2/varsets/:set/relationships/vars": variable("more"),
    "PATCH /api/v2/varsets/:set/relationships/vars/:variable": changed,
    "POST /api/v2/varsets/:set/relationships/workspaces": workspaces,
    "DELETE /api/v2/varsets/:set/relationships/workspaces": workspaces,
    "POST /api/v2/varsets/:set/relationships/projects": ofProjects,
    "DELETE /api/v2/varsets/:set/relationships/projects": ofProjects,
    "POST /api/v2/workspaces/:workspace/vars": variable("more"),
    "PATCH /api/v2/workspaces/:workspace/vars/:variable": changed,
    "PUT /api/v2/state-upload/:signed": next,
  };
  const ofCommands = /^\S+ \/api\/v2\/workspaces\/:workspace\/(?:current-)?state-version/;
  const requestOf = ({ method, url }: NotedRoute): Sent => {
    const route = routeOf({ method, url });
    const own = {
      ...(ofCommands.test(route) && { workspace: `ws-${method === "POST" ? held : kept}` }),
      ...(url.startsWith("/api/v2/state-versions/") && { version: `sv-${version}` }),
      ...(url.startsWith("/api/v2/") && { name: "one" }),
      ...(url.startsWith("/api/v2/varsets/") && { variable: variableOfSet }),
      ...(url.startsWith("/api/v2/workspaces/:workspace/var") && { workspace: `ws-${held}` }),
      ...(url.startsWith("/api/v2/projects/") && { project: project?.id ?? "" }),
      ...(url.includes("/execution-plans") && { stack_name: "shop" }),
    };
    const query =
      url === "/api/v2/state-versions"
        ? "?filter[organization][name]=default&filter[workspace][name]=kept"
        : "";
    const path = filledPath(shown(url), { ...names, ...own }) + query;
    const body = bodies[route] ?? (url.startsWith("/state/v1") ? LOCK : undefined);
    return { path, body, address: addresses[route] };
  };

  const tokenOf = async (limits: { readonly projects: string[]; readonly stacks?: string[] }) =>
    (await server.credentials.createToken({ account: "default", roles: ["admin"], ...limits }))
      .token;
  const tokens = {
    beside: await tokenOf({ projects: ["web"], stacks: ["web/two"] }),
    elsewhere: await tokenOf({ projects: ["other"] }),
    // Names of projects and stacks are those of its own account, which has none of them.
    stranger: (await server.credentials.createToken({ account: "strange", roles: ["admin"] }))
      .token,
    reader: await api.tokenOf("reader"),
    none: "",
  };
  const ask = async (url: string, method: string, token: string, body: Sent["body"]) => {
    const hasBody = body !== undefined && method !== "GET" && method !== "HEAD";
    const answer = await fetch(url, {
      method,
      redirect: "manual",
      headers: {
        ...RFS,
        ...(token !== "" && { authorization: `Bearer ${token}` }),
        ...(hasBody && { "content-type": "application/json" }),
      },
      ...(hasBody && { body: typeof body === "string" ? body : JSON.stringify(body) }),
    });
    return { status: answer.status, text: await answer.text() };
  };
  const document = (await call("GET", "/openapi.json")).json;
  const documented = new Set(
    allOperationsOf(document).map(({ method, path }) => `${method} ${path}`),
  );
  // HEAD of a route is its GET without the body.
  const faces = routes.filter(
    ({ method, url }) => method !== "HEAD" && !documented.has(`${method} ${shown(url)}`),
  );
  const ids = [one, kept, held].flatMap((id) => [id, workspaceId(id)]);
  const hidden = [...ids, run, '"shop"', '"depot"', '"kept"', '"base"'];
  const writes = noteWrites(storage);
  return { ...api, faces, requestOf, ask, tokens, hidden, writes };
}

/** A path as the document has it. */
function shown(url: string): string {
  return url.replaceAll(/:([a-z_]+)/g, "{$1}").replace("/*", "/{*}");
}

function routeOf({ method, url }: NotedRoute): string {
  return `${method} ${url}`;
}

/** What removes something is asked for last, and what is within another thing before that. */
function rankOf({ method, url }: NotedRoute): number {
  return method === "DELETE" ? 100 - url.split("/").length : 0;
}

it("no token reaches what the table does not give it, and a refused request writes nothing", {
  timeout: 300_000,
}, async () => {
  const { server, first, faces, requestOf, ask, tokens, writes } = await start();
  const found = new Map<string, number[]>();
  const written: string[] = [];
  for (const face of faces) {
    const { path, body } = requestOf(face);
    const statuses: number[] = [];
    for (const who of LIMITED) {
      writes.length = 0;
      const { status } = await ask(server.url + path, face.method, tokens[who], body);
      statuses.push(status);
      const kinds = status < 400 ? [] : writes.filter((kind) => !OWN_KINDS.has(kind));
      if (kinds.length > 0) written.push(`${routeOf(face)} ${who}: ${kinds.join(" ")}`);
    }
    found.set(routeOf(face), statuses);
  }
  // None of the refusals is one of a request that is refused in any case.
  for (const face of faces.toSorted((a, b) => rankOf(a) - rankOf(b))) {
    const { path, body, address = server.url + path } = requestOf(face);
    const { status } = await ask(address, face.method, first.token, body);
    found.get(routeOf(face))?.unshift(status);
  }
  expect(Object.fromEntries([...found].map(([route, all]) => [route, all.join(" ")]))).toEqual(
    EXPECTED,
  );
  expect(written).toEqual([]);
});

it("what a limited token reads has no name and no id of what it does not see", {
  timeout: 300_000,
}, async () => {
  const { server, first, faces, requestOf, ask, tokens, hidden } = await start();
  const naming: Record<"first" | "beside" | "elsewhere" | "stranger", string[]> = {
    first: [],
    beside: [],
    elsewhere: [],
    stranger: [],
  };
  // The document is the same for all, and has many words.
  const read = faces.filter(({ method, url }) => method === "GET" && url !== "/openapi.json");
  for (const face of read) {
    const url = server.url + requestOf(face).path;
    for (const who of ["first", "beside", "elsewhere", "stranger"] as const) {
      const token = who === "first" ? first.token : tokens[who];
      const { text } = await ask(url, "GET", token, undefined);
      if (hidden.some((name) => text.includes(name))) naming[who].push(routeOf(face));
    }
  }
  expect([naming.beside, naming.elsewhere, naming.stranger]).toEqual([[], [], []]);
  // They are there for those who may see them.
  expect(naming.first).toContain("GET /v1/:project_id/stacks");
  expect(naming.first).toContain("GET /api/v2/organizations/:organization/workspaces");
});
