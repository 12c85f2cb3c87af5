import { gzipSync } from "node:zlib";
import { NO_MIRROR, StackDirectory } from "@stackwright/core";
import { readAddress, signAddress } from "@stackwright/tfe";
import { describe, expect, it, vi } from "vitest";
import { startApi } from "../testing/start-api.ts";
import { tarOf } from "../testing/tar-of.ts";

interface Resource {
  readonly id: string;
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly relationships?: Readonly<Record<string, { readonly data: { readonly id: string } }>>;
}

const MAIN = `
variable "word" {
  sensitive = true
  default   = "none"
}
resource "terraform_data" "a" { input = var.word }
`;

async function start(executor: "in-process" | "none" = "in-process") {
  const api = await startApi(executor);
  const { call } = api;
  const dataOf = ({ json }: { readonly json: Record<string, unknown> }): Resource =>
    json["data"] as Resource;
  const made = await call("POST", "/api/v2/organizations/default/workspaces", {
    body: { data: { attributes: { name: "demo", "execution-mode": "remote" } } },
  });
  const workspace = dataOf(made).id;
  const announce = async (speculative = false): Promise<Resource> =>
    dataOf(
      await call("POST", `/api/v2/workspaces/${workspace}/configuration-versions`, {
        body: { data: { attributes: { speculative } } },
      }),
    );
  const put = async (address: unknown, files: Record<string, string>): Promise<number> =>
    (
      await fetch(String(address), {
        method: "PUT",
        body: Uint8Array.from(gzipSync(tarOf(files))),
      })
    ).status;
  const uploaded = async (
    files: Record<string, string> = { "main.tf": MAIN },
    speculative = false,
  ): Promise<string> => {
    const { id, attributes } = await announce(speculative);
    expect(await put(attributes["upload-url"], files)).toBe(200);
    return id;
  };
  const request = async (version: string, attributes: object = {}, token = api.first.token) =>
    call("POST", "/api/v2/runs", {
      token,
      body: {
        data: {
          type: "runs",
          attributes,
          relationships: {
            workspace: { data: { id: workspace } },
            "configuration-version": { data: { id: version } },
          },
        },
      },
    });
  const show = async (id: string): Promise<Resource> =>
    dataOf(await call("GET", `/api/v2/runs/${id}`));
  const reaches = async (id: string, status: string): Promise<void> =>
    vi.waitFor(
      async () => {
        expect((await show(id)).attributes["status"]).toBe(status);
      },
      { timeout: 20_000, interval: 20 },
    );
  const act = async (id: string, action: string) =>
    call("POST", `/api/v2/runs/${id}/actions/${action}`, { body: {} });
  const logOf = async (kind: "plans" | "applies", run: string): Promise<string> => {
    const id = run.replace("run-", kind === "plans" ? "plan-" : "apply-");
    const { attributes } = dataOf(await call("GET", `/api/v2/${kind}/${id}`));
    const text = await (
      await fetch(`${String(attributes["log-read-url"])}?limit=65536&offset=0`)
    ).text();
    return text.replace("\u0002", "<").replace("\u0003", ">");
  };
  return { ...api, dataOf, workspace, announce, put, uploaded, request, show, reaches, act, logOf };
}

describe("an upload", () => {
  it("is checked before anything of it is stored", async () => {
    const { announce, put, call, dataOf, request } = await start("none");
    const { id, attributes } = await announce();
    expect(await put(attributes["upload-url"], { "../x": "" })).toBe(422);
    expect(
      (await fetch(String(attributes["upload-url"]), { method: "PUT", body: "no" })).status,
    ).toBe(422);
    const status = async (): Promise<unknown> =>
      dataOf(await call("GET", `/api/v2/configuration-versions/${id}`)).attributes["status"];
    expect(await status()).toBe("pending");
    expect((await request(id)).status).toBe(422);
    expect(await put(attributes["upload-url"], { "main.tf": MAIN })).toBe(200);
    expect(await put(attributes["upload-url"], { "main.tf": MAIN })).toBe(200);
    expect(await put(attributes["upload-url"], { "main.tf": "" })).toBe(409);
    expect(await status()).toBe("uploaded");
  });
});

describe("an address of a page", () => {
  it("leads to the console, for a run to its page", async () => {
    const { uploaded, request, dataOf, server } = await start("none");
    const { id } = dataOf(await request(await uploaded()));
    const leadsTo = async (path: string): Promise<string | null> =>
      (await fetch(`${server.url}${path}`, { redirect: "manual" })).headers.get("location");
    const run = id.split("-").at(-1);
    expect(await leadsTo(`/app/default/demo/runs/${id}`)).toBe(
      `/console/p/default/s/demo/r/${run}`,
    );
    const unknown = id.replace(/[^-]+$/, "0".repeat(26));
    expect(await leadsTo(`/app/default/demo/runs/${unknown}`)).toBe("/console/");
    for (const organization of ["other", "*", "%00", "a%2Fb"]) {
      expect(await leadsTo(`/app/${organization}/demo/runs/${id}`)).toBe("/console/");
    }
    expect(await leadsTo("/app/default/demo")).toBe("/console/");
    expect(await leadsTo("/app/default/workspaces")).toBe("/console/projects");
    expect(await leadsTo("/app/settings/tokens?source=terraform-login")).toBe("/console/access");
  });
});

describe("a run", () => {
  it("is not over for a command that has read its log so far, until that has read the end", async () => {
    const { uploaded, request, dataOf, act, call, logOf } = await start("none");
    const { id } = dataOf(await request(await uploaded()));
    const statusOf = async (path: string): Promise<unknown> =>
      dataOf(await call("GET", `/api/v2/${path}-${id.slice(4)}`)).attributes["status"];
    const statuses = async () =>
      Promise.all(["runs/run", "plans/plan", "applies/apply"].map(statusOf));
    expect(await logOf("plans", id)).not.toContain(">");
    expect(await statuses()).toEqual(["pending", "pending", "pending"]);
    expect((await act(id, "cancel")).status).toBe(202);
    expect(await statuses()).toEqual(["canceled", "running", "unreachable"]);
    expect(await logOf("plans", id)).toMatch(/>$/);
    expect(await statuses()).toEqual(["canceled", "canceled", "unreachable"]);
  });

  it("has the values of sets with priority in place of those that a command gives", async () => {
    const { uploaded, request, dataOf, reaches, call } = await start();
    const main = ["a", "b", "c"].map((name) => `variable "${name}" {}\n`).join("");
    const version = await uploaded({
      "main.tf": `${main}resource "terraform_data" "x" { input = join("/", [var.a, var.b, var.c]) }\n`,
    });
    for (const [sets, key] of [
      ["/api/v1/variable-sets", "a"],
      ["/api/v1/projects/default/variable-sets", "b"],
    ] as const) {
      expect((await call("POST", sets, { body: { name: "s", priority: true } })).status).toBe(201);
      const path = `${sets}/s/variables/terraform/${key}`;
      expect((await call("PUT", path, { body: { value: `${key}-enforced` } })).status).toBe(201);
    }
    const variables = ["a", "b", "c"].map((key) => ({ key, value: `"${key}-given"` }));
    const { id } = dataOf(await request(version, { variables }));
    await reaches(id, "planned");
    const plan = await call("GET", `/api/v2/plans/${id.replace("run-", "plan-")}/json-output`);
    expect(plan.text).toContain("a-enforced/b-enforced/c-given");
  });

  it("is requested once by two requests, waits, and is applied", async () => {
    const { uploaded, request, dataOf, reaches, act, show, logOf, call, tokenOf } = await start();
    const version = await uploaded();
    const variables = [{ key: "word", value: '"s3cret"' }];
    const answers = await Promise.all([
      request(version, { variables }),
      request(version, { variables }),
    ]);
    expect(answers.map(({ status }) => status)).toEqual([201, 201]);
    const [first, second] = answers.map(dataOf);
    const id = first?.id ?? "";
    expect(second?.id).toBe(id);
    await reaches(id, "planned");
    expect((await show(id)).attributes).toMatchObject({
      "has-changes": true,
      actions: { "is-confirmable": true, "is-discardable": true, "is-cancelable": false },
    });
    const planPath = `/api/v2/plans/${id.replace("run-", "plan-")}/json-output`;
    const token = await tokenOf("reader");
    for (const path of [planPath, `${planPath}-redacted`]) {
      expect((await call("GET", path, { token })).status).toBe(404);
      const { status, text } = await call("GET", path);
      expect([status, text.includes("s3cret")]).toEqual([200, false]);
      expect(text).toContain('"address":"terraform_data.a"');
    }
    const plan = await logOf("plans", id);
    expect(plan).toMatch(/^<Stackwright\n(.|\n)*Plan: 1 to add, 0 to change, 0 to destroy\.\n>$/);
    expect(await logOf("applies", id)).not.toContain(">");
    expect((await act(id, "apply")).status).toBe(202);
    await reaches(id, "applied");
    const apply = await logOf("applies", id);
    expect(apply).toMatch(
      /terraform_data\.a: Creation complete(.|\n)*Apply complete! Resources: 1 added, 0 changed, 0 destroyed\.\n>$/,
    );
    expect(await logOf("plans", id)).toBe(plan);
    expect(plan + apply).not.toContain("s3cret");
    expect((await act(id, "apply")).status).toBe(409);
    expect((await act(id, "cancel")).status).toBe(409);
    expect((await act(id, "force-cancel")).status).toBe(409);
  });

  it("shows no secret of its plan after that was replaced", { timeout: 90_000 }, async () => {
    const { uploaded, request, dataOf, show, call } = await start();
    const set = async (value: string) => {
      const path = "/api/v1/projects/default/stacks/demo/variables/env/TOKEN";
      const former = (await call("GET", path)).headers.get("etag");
      const headers = former === null ? {} : { "if-match": former };
      const { status } = await call("PUT", path, { body: { value, sensitive: true }, headers });
      expect(status).toBeLessThan(300);
    };
    await set("former-s3cret");
    const main = 'resource "terraform_data" "a" {\n  input = "it is former-s3cret"\n}\n';
    const { id } = dataOf(await request(await uploaded({ "main.tf": main })));
    await expect
      .poll(async () => (await show(id)).attributes["status"], { timeout: 60_000 })
      .toBe("planned");
    await set("another");
    for (const form of ["json-output", "json-output-redacted"]) {
      const { status, text } = await call(
        "GET",
        `/api/v2/plans/${id.replace("run-", "plan-")}/${form}`,
      );
      expect([status, text.includes("former-s3cret")]).toEqual([200, false]);
      expect(text).toContain('"address":"terraform_data.a"');
    }
  });

  it("has its own outputs at the end of its log, and never those of a later one", async () => {
    const { uploaded, request, dataOf, reaches, logOf } = await start();
    const apply = async (word: string): Promise<string> => {
      const version = await uploaded({ "main.tf": `output "word" { value = "${word}" }\n` });
      const { id } = dataOf(await request(version, { "auto-apply": true }));
      await reaches(id, "applied");
      return id;
    };
    const first = await apply("one");
    expect(await logOf("applies", first)).toContain('word = "one"');
    const second = await apply("two");
    expect(await logOf("applies", second)).toContain('word = "two"');
    const log = await logOf("applies", first);
    expect(log).toContain("Apply complete!");
    expect(log).not.toContain("two");
  });

  it("has a log without what its command knows, and is counted by those that wait for it alone", async () => {
    const { uploaded, request, dataOf, reaches, logOf, call, workspace } = await start();
    const main = `terraform {
      cloud { organization = "default" }
    }
    resource "terraform_data" "a" { input = "a" }
    output "map" { value = { a = [1, "x"] } }
    `;
    const { id: plan } = dataOf(await request(await uploaded({ "main.tf": main }, true)));
    await reaches(plan, "planned_and_finished");
    const planned = await logOf("plans", plan);
    expect(planned).not.toContain("no effect");
    expect(planned.match(/^Plan: .*/gm)).toEqual(["Plan: 1 to add, 0 to change, 0 to destroy."]);
    const listed = async (filter = "") => {
      const { json } = await call("GET", `/api/v2/workspaces/${workspace}/runs${filter}`);
      return (json["data"] as Resource[]).map(({ id }) => id);
    };
    const current = async () => {
      const { relationships } = dataOf(await call("GET", `/api/v2/workspaces/${workspace}`));
      return relationships?.["current-run"]?.data;
    };
    expect([await listed(), await current()]).toEqual([[], null]);
    const { id: apply } = dataOf(await request(await uploaded({ "main.tf": main })));
    await reaches(apply, "planned");
    expect(await current()).toEqual({ id: apply, type: "runs" });
    expect(await listed()).toEqual([apply]);
    expect(await listed("?filter[operation]=plan_only")).toEqual([plan]);
    expect(await listed("?filter[operation]=plan_only,plan_and_apply")).toEqual([apply, plan]);
    await call("POST", `/api/v2/runs/${apply}/actions/apply`, { body: {} });
    await reaches(apply, "applied");
    expect(await current()).toBe(null);
    expect(await logOf("applies", apply)).toContain(
      'Outputs:\n\nmap = {\n  "a" = [\n    1,\n    "x",\n  ]\n}\n',
    );
  });

  it("that fails has its diagnostic in its log, and ends as errored", async () => {
    const { uploaded, request, dataOf, reaches, logOf } = await start();
    const version = await uploaded({ "main.tf": "resource terraform_data a { input = var.none }" });
    const { id } = dataOf(await request(version, { "auto-apply": true }));
    await reaches(id, "errored");
    expect(await logOf("plans", id)).toMatch(/\nError: (.|\n)*main\.tf line 1(.|\n)*>$/);
    expect(await logOf("applies", id)).toMatch(/>$/);
  });

  it("that only plans a destroy destroys nothing, and is not repeated as one that does", async () => {
    const { uploaded, request, dataOf, reaches, call } = await start();
    const apply = dataOf(await request(await uploaded(), { "auto-apply": true })).id;
    await reaches(apply, "applied");
    const version = await uploaded({ "main.tf": MAIN }, true);
    const { id } = dataOf(await request(version, { "is-destroy": true }));
    await reaches(id, "planned_and_finished");
    const runs = "/api/v1/projects/default/stacks/demo/runs";
    expect((await call("POST", `${runs}/${id.split("-").at(-1)}/retry`, { body: {} })).status).toBe(
      409,
    );
    expect((await call("GET", "/state/v1/default/default/demo")).text).toContain("terraform_data");
  });

  it("waits for a lock, and can be canceled meanwhile", async () => {
    const { uploaded, request, dataOf, call, workspace, act, show } = await start();
    await call("POST", `/api/v2/workspaces/${workspace}/actions/lock`);
    const { id } = dataOf(await request(await uploaded()));
    expect((await show(id)).attributes).toMatchObject({
      status: "pending",
      actions: { "is-cancelable": true },
    });
    expect((await act(id, "cancel")).status).toBe(202);
    expect((await show(id)).attributes["status"]).toBe("canceled");
  });

  it("is refused where it cannot be what was asked for", async () => {
    const { uploaded, request, tokenOf, call, workspace } = await start("none");
    const version = await uploaded();
    const refused = async (attributes: object): Promise<number> =>
      (await request(version, attributes)).status;
    expect(await refused({ "is-destroy": true, "refresh-only": true })).toBe(422);
    const replaces = { "replace-addrs": ["terraform_data.a"] };
    expect(await refused({ "is-destroy": true, ...replaces })).toBe(422);
    expect(await refused({ "refresh-only": true, ...replaces })).toBe(422);
    expect(await refused({ "allow-config-generation": true })).toBe(422);
    expect(await refused({ variables: [{ key: "a = 1\nb", value: "1" }] })).toBe(422);
    expect(await refused({ "target-addrs": "a" })).toBe(422);
    expect((await request(version, {}, await tokenOf("reader"))).status).toBe(403);
    expect((await request(version.replace(/[0-9A-Z]{26}/, "0".repeat(26)))).status).toBe(422);
    expect(
      (await request(await uploaded({ "main.tf": MAIN }, true), { "save-plan": true })).status,
    ).toBe(422);
    expect((await call("GET", `/api/v2/workspaces/${workspace}/runs`)).json["data"]).toEqual([]);
  });

  it("has its root module in the working directory of the workspace", async () => {
    const { uploaded, request, dataOf, reaches, logOf, call, workspace } = await start();
    const set = async (folder: string, status = 200) => {
      const body = { data: { attributes: { "working-directory": folder } } };
      const answer = await call("PATCH", `/api/v2/workspaces/${workspace}`, { body });
      expect([folder, answer.status]).toEqual([folder, status]);
    };
    for (const folder of ["../x", "a/../..", "a\\b", "a\u0000b", "a\nb"]) await set(folder, 422);
    const files = {
      "stacks/web/main.tf": 'module "net" { source = "../../modules/net" }\n',
      "modules/net/main.tf": 'resource "terraform_data" "a" { input = "x" }\n',
    };
    await set("stacks/web");
    const { id } = dataOf(await request(await uploaded(files)));
    await reaches(id, "planned");
    expect(await logOf("plans", id)).toContain("module.net.terraform_data.a");
  });

  it("has it as well by an address that a server of an older release made, without the folder", async () => {
    const { server, announce, put, request, dataOf, reaches, logOf, call, workspace } =
      await start();
    await call("PATCH", `/api/v2/workspaces/${workspace}`, {
      body: { data: { attributes: { "working-directory": "stacks/web" } } },
    });
    const { id: version, attributes } = await announce();
    const address = String(attributes["upload-url"]);
    const signed = address.slice(address.lastIndexOf("/") + 1);
    const key = await server.registry.secrets.key("tfe-address");
    const { root, ...older } = readAddress(key, signed, Date.now()) as Record<string, unknown>;
    expect(root).toBe("stacks/web");
    const former = signAddress(key, older, Date.now() + 60_000);
    const files = {
      "main.tf": MAIN,
      "stacks/web/main.tf": 'resource "terraform_data" "b" { input = "x" }',
    };
    expect(await put(address.replace(signed, former), files)).toBe(200);
    const { id } = dataOf(await request(version));
    await reaches(id, "planned");
    expect(await logOf("plans", id)).toContain("terraform_data.b");
  });

  it.each([
    ["is not there", { "main.tf": MAIN }],
    ["is a file", { "main.tf": MAIN, stacks: "x" }],
    ["has no configuration files", { "stacks/web/main.tf": MAIN, "stacks/notes.txt": "x" }],
  ])("destroys nothing where the working directory %s", async (_, files) => {
    const { uploaded, request, dataOf, reaches, logOf, act, call, workspace } = await start();
    const { id: first } = dataOf(await request(await uploaded()));
    await reaches(first, "planned");
    await act(first, "apply");
    await reaches(first, "applied");
    await call("PATCH", `/api/v2/workspaces/${workspace}`, {
      body: { data: { attributes: { "working-directory": "stacks" } } },
    });
    const { id } = dataOf(await request(await uploaded(files), { "auto-apply": true }));
    await reaches(id, "errored");
    const log = await logOf("plans", id);
    expect(log).toContain('the folder "stacks"');
    // Where the worker has it is nothing to a reader.
    expect(log).not.toContain("/configuration/");
  });

  it("is refused for a workspace whose state a command keeps", async () => {
    const { uploaded, request, server, first } = await start("none");
    const body = JSON.stringify({
      version: 4,
      serial: 1,
      lineage: "l",
      outputs: {},
      resources: [],
    });
    const headers = { authorization: `Bearer ${first.token}` };
    const address = `${server.url}/state/v1/default/default/demo`;
    expect((await fetch(address, { method: "POST", headers, body })).status).toBe(200);
    const { status, text } = await request(await uploaded());
    expect([status, text]).toEqual([409, expect.stringContaining("stackwright adopt")]);
  });
});

describe("a workspace with runs", () => {
  it("is deleted with what they made by force alone, and not during one", async () => {
    const { workspace, call, uploaded, request, dataOf, reaches, act } = await start();
    const path = `/api/v2/workspaces/${workspace}`;
    const { id } = dataOf(await request(await uploaded(), { "auto-apply": true }));
    await reaches(id, "applied");
    const remove = async (method: string, part = ""): Promise<number> =>
      (await call(method, `${path}${part}`)).status;
    expect(await remove("POST", "/actions/safe-delete")).toBe(409);
    const other = { "main.tf": 'resource "terraform_data" "b" {}' };
    const { id: waiting } = dataOf(await request(await uploaded(other)));
    await reaches(waiting, "planned");
    expect(await remove("DELETE")).toBe(409);
    expect(dataOf(await call("GET", path)).attributes["execution-mode"]).toBe("remote");
    await act(waiting, "discard");
    expect(await remove("DELETE")).toBe(204);
    expect((await call("GET", path)).status).toBe(404);
    // The name is free for another one, which has nothing of it.
    const again = await call("POST", "/api/v2/organizations/default/workspaces", {
      body: { data: { attributes: { name: "demo" } } },
    });
    expect(again.status).toBe(201);
    const state = `/api/v2/workspaces/${dataOf(again).id}/current-state-version`;
    expect((await call("GET", state)).status).toBe(404);
  });
});

it("a workspace whose state was handed back is deleted by force, as it is no longer the server's", async () => {
  const { workspace, call, uploaded, request, dataOf, reaches, server } = await start();
  const { id } = dataOf(await request(await uploaded(), { "auto-apply": true }));
  await reaches(id, "applied");
  const { storage } = server.credentials.records;
  await new StackDirectory({ storage }).recordOrigin(
    { account: "default", project: "default" },
    "demo",
    {
      kind: "state",
      timeMs: 0,
      actor: "ann",
      backend: "local",
      place: "shop.tfstate",
      placeDigest: "",
      workspace: "",
      lineage: "l",
      serial: 3n,
      terraformVersion: "1.13.0",
      sha256: "",
      acceptedChanges: 0,
      lockId: "",
      handedBack: true,
      renamedTo: "",
      mirror: NO_MIRROR,
    },
  );
  expect((await call("DELETE", `/api/v2/workspaces/${workspace}`)).status).toBe(204);
});

describe("the execution mode", () => {
  it("changes with the state, and not during a run or by a deployer", async () => {
    const { workspace, call, uploaded, request, dataOf, reaches, act, tokenOf } = await start();
    const path = `/api/v2/workspaces/${workspace}`;
    const set = async (mode: string, token?: string): Promise<number> =>
      (
        await call("PATCH", path, {
          token,
          body: { data: { attributes: { "execution-mode": mode } } },
        })
      ).status;
    const mode = async (): Promise<unknown> =>
      dataOf(await call("GET", path)).attributes["execution-mode"];
    const apply = async (): Promise<string> => {
      const { id } = dataOf(await request(await uploaded(), { "auto-apply": true }));
      await reaches(id, "applied");
      return id;
    };
    // A run that waits.
    const { id: waiting } = dataOf(await request(await uploaded()));
    await reaches(waiting, "planned");
    expect([await set("local"), await mode()]).toEqual([409, "remote"]);
    expect((await act(waiting, "discard")).status).toBe(202);
    // Without a state.
    expect([await set("local"), await mode()]).toEqual([200, "local"]);
    expect([await set("remote"), await mode()]).toEqual([200, "remote"]);
    await apply();
    // A plan alone keeps nothing out once it is made.
    const other = { "main.tf": 'resource "terraform_data" "b" {}' };
    const { id: plan } = dataOf(await request(await uploaded(other, true)));
    await reaches(plan, "planned_and_finished");
    expect(await set("local", await tokenOf("deployer"))).toBe(403);
    const serialOf = async (): Promise<number> => {
      const found = await call("GET", `${path}/current-state-version`);
      return Number(dataOf(found).attributes["serial"]);
    };
    const first = await serialOf();
    expect([await set("local"), await mode()]).toEqual([200, "local"]);
    expect(await serialOf()).toBeGreaterThanOrEqual(first);
    const refused = await request(await uploaded());
    expect([refused.status, refused.text.includes("stacks tool --set stackwright")]).toEqual([
      409,
      true,
    ]);
    // A command of the workspace has the lock.
    expect((await call("POST", `${path}/actions/lock`)).status).toBe(200);
    expect([await set("remote"), await mode()]).toEqual([409, "local"]);
    expect((await call("POST", `${path}/actions/unlock`)).status).toBe(200);
    expect([await set("remote"), await mode()]).toEqual([200, "remote"]);
    const { id } = dataOf(await request(await uploaded()));
    await reaches(id, "planned_and_finished");
    expect(await serialOf()).toBeGreaterThanOrEqual(first);
  });
});
