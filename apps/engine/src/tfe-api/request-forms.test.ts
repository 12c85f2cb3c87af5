import { createHash } from "node:crypto";
import { gzipSync } from "node:zlib";
import { expect, it } from "vitest";
import { startApi } from "../testing/start-api.ts";
import { tarOf } from "../testing/tar-of.ts";

// Requests as the client library of the real commands forms them, in the order of a run: types that are empty, actions without a body
// or with `{}`, members of a query that mean nothing. What commands read without a check is whole in every answer.

const JSON_API = "application/vnd.api+json";
const STATE = Buffer.from(
  JSON.stringify({
    version: 4,
    terraform_version: "1.11.4",
    serial: 1,
    lineage: "5d2cb8a0-54a4-4f2e-9f4e-000000000001",
    outputs: { o: { value: "d", type: "string" } },
    resources: [],
    check_results: null,
  }),
);
const MD5 = createHash("md5").update(STATE).digest("hex");

const WORKSPACE_PERMISSIONS = [
  "can-update",
  "can-destroy",
  "can-queue-run",
  "can-queue-apply",
  "can-queue-destroy",
  "can-lock",
  "can-unlock",
  "can-force-unlock",
  "can-read-settings",
  "can-update-variable",
  "can-force-delete",
];
const RUN_ACTIONS = ["is-cancelable", "is-confirmable", "is-discardable", "is-force-cancelable"];

interface Data {
  readonly id: string;
  readonly type: string;
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly relationships?: Readonly<Record<string, { readonly data?: unknown }>>;
}

async function start() {
  const api = await startApi("none");
  /** Sends what is given, byte for byte. */
  const send = async (method: string, path: string, body?: string | Uint8Array<ArrayBuffer>) => {
    const answer = await fetch(new URL(path, `${api.server.url}/api/v2/`), {
      method,
      headers: {
        authorization: `Bearer ${api.first.token}`,
        "user-agent": "go-tfe",
        accept: JSON_API,
        "content-type": JSON_API,
        "terraform-version": "1.11.4",
        "x-terraform-integration": "cloud",
      },
      ...(body !== undefined && { body }),
    });
    const text = await answer.text();
    const isJson = answer.headers.get("content-type")?.includes("json") === true && text !== "";
    const json = (isJson ? JSON.parse(text) : {}) as { data?: Data | Data[]; meta?: object };
    return { status: answer.status, headers: answer.headers, json, text };
  };
  const one = async (
    method: string,
    path: string,
    expected: readonly [status: number, type: string],
    body?: object | string,
  ): Promise<Data> => {
    const text = typeof body === "object" ? JSON.stringify(body) : body;
    const { status, json, headers } = await send(method, path, text);
    const data = json.data as Data;
    expect([method, path, status, data?.type]).toEqual([method, path, ...expected]);
    expect(headers.get("tfp-api-version")).toBe("2.6");
    if (data.type === "workspaces") {
      expect(data.attributes["permissions"]).toMatchObject(flags(WORKSPACE_PERMISSIONS));
      expect(data.attributes["actions"]).toMatchObject(flags(["is-destroyable"]));
    }
    if (data.type === "runs") expect(data.attributes["actions"]).toMatchObject(flags(RUN_ACTIONS));
    return data;
  };
  const many = async (path: string, type: string): Promise<readonly Data[]> => {
    const { status, json } = await send("GET", path);
    const list = json.data as Data[];
    expect([path, status, Array.isArray(list)]).toEqual([path, 200, true]);
    expect(new Set(list.map((each) => each.type)).size).toBeLessThanOrEqual(1);
    if (list.length > 0) expect(list[0]?.type).toBe(type);
    expect(json.meta).toMatchObject({
      pagination: {
        "current-page": 1,
        "total-pages": expect.any(Number) as number,
        "total-count": expect.any(Number) as number,
      },
    });
    return list;
  };
  return { send, one, many };
}

function flags(names: readonly string[]): Readonly<Record<string, unknown>> {
  return Object.fromEntries(names.map((name) => [name, expect.any(Boolean) as boolean]));
}

it("answers each form of a request in the way that commands read it", async () => {
  const { send, one, many } = await start();
  expect(await send("GET", "ping")).toMatchObject({ status: 204, text: "" });
  const entitlements = await one("GET", "organizations/default/entitlement-set", [
    200,
    "entitlement-sets",
  ]);
  expect(entitlements.attributes).toMatchObject(flags(["operations", "state-storage"]));
  expect((await send("GET", "organizations/default/workspaces/demo")).status).toBe(404);
  // The stray member of a query comes from a client that writes a map as it is.
  await many(
    "organizations/default/workspaces?TagBindings=%7B%2Benv%2Bprod%7D&filter%5Btagged%5D%5B0%5D%5Bkey%5D=env&page%5Bsize%5D=100&search%5Btags%5D=app",
    "workspaces",
  );
  await many("organizations/default/projects?filter%5Bnames%5D=net", "projects");
  const project = await one("POST", "organizations/default/projects", [201, "projects"], {
    data: { type: "projects", attributes: { name: "net" } },
  });
  const workspace = await one("POST", "organizations/default/workspaces", [201, "workspaces"], {
    data: {
      type: "workspaces",
      attributes: { name: "demo", "terraform-version": "1.11.4" },
      relationships: {
        project: { data: { type: "projects", id: project.id } },
        "tag-bindings": {
          data: [{ type: "tag-bindings", attributes: { key: "env", value: "prod" } }],
        },
      },
    },
  });
  expect(workspace.attributes).toMatchObject({
    name: "demo",
    "vcs-repo": null,
    locked: false,
    "structured-run-output-enabled": expect.any(Boolean) as boolean,
  });
  const at = `workspaces/${workspace.id}`;
  await one("PATCH", at, [200, "workspaces"], {
    data: { type: "workspaces", id: workspace.id, attributes: { "terraform-version": "1.11.4" } },
  });
  await one("GET", "organizations/default/workspaces/demo?include=organization", [
    200,
    "workspaces",
  ]);
  await many(`${at}/tag-bindings`, "tag-bindings");
  expect(
    await send(
      "PATCH",
      `${at}/tag-bindings`,
      JSON.stringify({ data: [{ type: "tag-bindings", attributes: { key: "team", value: "" } }] }),
    ),
  ).toMatchObject({ status: 200 });
  expect(
    await send(
      "POST",
      `${at}/relationships/tags`,
      JSON.stringify({ data: [{ type: "tags", attributes: { name: "app" } }] }),
    ),
  ).toMatchObject({ status: 204 });
  await many(`${at}/vars`, "vars");
  await many(`${at}/all-vars`, "vars");

  // The type of a lock is empty; what ends it has the type of JSON and no body.
  const reason = { data: { type: "", attributes: { reason: "Locked by Terraform" } } };
  await one("POST", `${at}/actions/lock`, [200, "workspaces"], reason);
  expect((await send("POST", `${at}/actions/lock`, JSON.stringify(reason))).status).toBe(409);
  const state = await one("POST", `${at}/state-versions`, [201, "state-versions"], {
    data: {
      type: "state-versions",
      attributes: {
        serial: 1,
        md5: MD5,
        lineage: "5d2cb8a0-54a4-4f2e-9f4e-000000000001",
        force: false,
        "json-state-outputs": Buffer.from(
          JSON.stringify({ o: { sensitive: false, value: "d", type: "string" } }),
        ).toString("base64"),
      },
    },
  });
  const upload = state.attributes["hosted-state-upload-url"];
  expect(
    (await fetch(String(upload), { method: "PUT", body: Uint8Array.from(STATE) })).status,
  ).toBe(200);
  await one("GET", `state-versions/${state.id}`, [200, "state-versions"]);
  await one("POST", `${at}/actions/unlock`, [200, "workspaces"], "");
  expect((await send("POST", `${at}/actions/force-unlock`, "")).status).toBe(409);
  const current = await one("GET", `${at}/current-state-version`, [200, "state-versions"]);
  const download = await fetch(String(current.attributes["hosted-state-download-url"]));
  expect(Buffer.from(await download.arrayBuffer())).toEqual(STATE);
  const outputs = await many(`${at}/current-state-version-outputs`, "state-version-outputs");
  expect(outputs[0]?.attributes).toMatchObject({
    name: "o",
    value: "d",
    "detailed-type": "string",
  });
  await one("GET", `state-version-outputs/${outputs[0]?.id}`, [200, "state-version-outputs"]);
  await many(
    "state-versions?filter%5Borganization%5D%5Bname%5D=default&filter%5Bworkspace%5D%5Bname%5D=demo",
    "state-versions",
  );
  expect((await send("POST", `${at}/actions/safe-delete`, "")).status).toBe(204);

  const other = await one("POST", "organizations/default/workspaces", [201, "workspaces"], {
    data: { type: "workspaces", attributes: { name: "runs", "execution-mode": "remote" } },
  });
  const announced = await one(
    "POST",
    `workspaces/${other.id}/configuration-versions`,
    [201, "configuration-versions"],
    {
      data: {
        type: "configuration-versions",
        attributes: { "auto-queue-runs": false, provisional: false, speculative: false },
      },
    },
  );
  const archive = Uint8Array.from(gzipSync(tarOf({ "main.tf": "" })));
  const put = await fetch(String(announced.attributes["upload-url"]), {
    method: "PUT",
    body: archive,
    headers: { "content-type": "application/octet-stream" },
  });
  expect(put.status).toBe(200);
  const uploaded = await one("GET", `configuration-versions/${announced.id}`, [
    200,
    "configuration-versions",
  ]);
  expect(uploaded.attributes["status"]).toBe("uploaded");
  const run = await one("POST", "runs", [201, "runs"], {
    data: {
      type: "runs",
      attributes: {
        "auto-apply": false,
        refresh: true,
        "save-plan": false,
        "allow-config-generation": false,
        variables: [{ key: "who", value: '"bob"' }],
      },
      relationships: {
        "configuration-version": {
          data: {
            type: "configuration-versions",
            id: announced.id,
            attributes: { "auto-queue-runs": false },
          },
        },
        workspace: { data: { type: "workspaces", id: other.id, attributes: {} } },
      },
    },
  });
  expect(Object.keys(run.relationships ?? {})).toEqual(
    expect.arrayContaining(["plan", "apply", "workspace", "configuration-version"]),
  );
  expect((await send("GET", `runs/${run.id}/run-events?include=actor`)).status).toBe(200);
  await one("GET", `runs/${run.id}?include=task_stages`, [200, "runs"]);
  await one("GET", `runs/${run.id}?include=workspace%2Cplan`, [200, "runs"]);
  await many(`workspaces/${other.id}/runs?page%5Bnumber%5D=1&page%5Bsize%5D=0`, "runs");
  await many("organizations/default/runs/queue", "runs");
  await one("GET", "organizations/default/capacity", [200, "organization-capacity"]);
  for (const [kind, type] of [
    ["plan", "plans"],
    ["apply", "applies"],
  ] as const) {
    const { id } = (run.relationships?.[kind]?.data ?? {}) as { id: string };
    const found = await one("GET", `${type}/${id}`, [200, type]);
    const log = new URL(String(found.attributes["log-read-url"]));
    log.search = "?limit=65536&offset=0";
    const slice = await fetch(log);
    expect([slice.status, (await slice.text()).charCodeAt(0)]).toEqual([200, 2]);
  }
  expect((await send("POST", `runs/${run.id}/actions/apply`, "{}")).status).toBe(409);
  expect((await send("POST", `runs/${run.id}/actions/cancel`, "{}")).status).toBe(202);
  expect((await send("POST", `runs/${run.id}/actions/cancel`, '{"comment":"again"}')).status).toBe(
    409,
  );
  expect((await send("DELETE", "organizations/default/workspaces/runs", "")).status).toBe(204);
  expect((await send("GET", "organizations/nobody/entitlement-set")).status).toBe(404);
}, 60_000);
