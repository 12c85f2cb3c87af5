import { gzipSync } from "node:zlib";
import { describe, expect, it, vi } from "vitest";
import { playedTool } from "../testing/played-tool.ts";
import { startApi } from "../testing/start-api.ts";
import { tarOf } from "../testing/tar-of.ts";

const CLOUD = { "x-terraform-integration": "cloud", "terraform-version": "1.11.4" };
/** The backend `remote` says only its version. */
const REMOTE = { "terraform-version": "1.11.4" };
type Headers = Readonly<Record<string, string>>;

const MAIN = `
resource "terraform_data" "a" { input = 1 }
output "big" { value = 12345678901234567890.25 }
`;

interface Resource {
  readonly id: string;
  readonly attributes: Readonly<Record<string, unknown>>;
}

async function start(options: Parameters<typeof startApi>[1] = {}) {
  const api = await startApi("in-process", options);
  const { call } = api;
  const send = async (method: string, path: string, headers: Headers, body?: object) => {
    const given = body === undefined ? {} : { body };
    return call(method, `/api/v2/${path}`, { headers, ...given });
  };
  const show = async (path: string, headers: Headers): Promise<Resource> =>
    (await send("GET", path, headers)).json["data"] as Resource;
  const attributes = { name: "demo", "execution-mode": "remote" };
  const made = await send("POST", "organizations/default/workspaces", CLOUD, {
    data: { attributes },
  });
  const workspace = (made.json["data"] as Resource).id;
  /** Applies the configuration, and returns the end of the id of the run. */
  const apply = async (text = MAIN): Promise<string> => {
    const versions = `workspaces/${workspace}/configuration-versions`;
    const version = (await send("POST", versions, CLOUD, { data: { attributes: {} } })).json[
      "data"
    ] as Resource;
    const archive = Uint8Array.from(gzipSync(tarOf({ "main.tf": text })));
    const address = String(version.attributes["upload-url"]);
    expect((await fetch(address, { method: "PUT", body: archive })).status).toBe(200);
    const requested = await send("POST", "runs", CLOUD, {
      data: {
        attributes: { "auto-apply": true },
        relationships: {
          workspace: { data: { id: workspace } },
          "configuration-version": { data: { id: version.id } },
        },
      },
    });
    const { id } = requested.json["data"] as Resource;
    await vi.waitFor(
      async () => {
        const { attributes: now } = await show(`runs/${id}`, CLOUD);
        expect(["applied", "errored", "planned_and_finished"]).toContain(now["status"]);
      },
      { timeout: 20_000, interval: 20 },
    );
    return id.slice(4);
  };
  /** A log as a command with such headers reads it, in slices. */
  const log = async (kind: "plan" | "apply", run: string, headers: Headers, limit = 65_536) => {
    const place = kind === "plan" ? `plans/plan-${run}` : `applies/apply-${run}`;
    const address = String((await show(place, headers)).attributes["log-read-url"]);
    let text = "";
    for (;;) {
      const answer = await fetch(`${address}?limit=${limit}&offset=${Buffer.byteLength(text)}`);
      const slice = await answer.text();
      text += slice;
      if (slice === "" || text.endsWith("\u0003")) break;
    }
    return text.slice(1, -1);
  };
  return { ...api, send, show, workspace, apply, log };
}

/** The objects among the lines of a log. */
function objectsOf(text: string): Record<string, unknown>[] {
  const lines = text.split("\n").filter((line) => line.startsWith("{"));
  return lines.map((line) => JSON.parse(line) as Record<string, unknown>);
}

describe("structured output", () => {
  it("is for the cloud block, and the backend remote has the same run as text", async () => {
    const { apply, log, show, workspace } = await start();
    const run = await apply();
    const types = (text: string) => objectsOf(text).map(({ type }) => type);
    const [plan, applied] = [await log("plan", run, CLOUD), await log("apply", run, CLOUD)];
    expect(types(plan)).toEqual(["change_summary"]);
    expect(plan).not.toContain("will be created");
    expect(types(applied)).toEqual(["apply_start", "apply_complete", "change_summary", "outputs"]);
    // Commands leave three lines of a log of an apply out.
    expect(applied.split("\n").findIndex((line) => line.startsWith("{"))).toBe(3);
    expect(applied).toContain(
      '"big":{"sensitive":false,"type":"number","value":12345678901234567890.25}',
    );

    const text = await log("plan", run, REMOTE);
    expect(types(text)).toEqual([]);
    expect(text).toContain("Plan: 1 to add, 0 to change, 0 to destroy.");
    expect(await log("apply", run, REMOTE)).toContain("terraform_data.a: Creating...\n");

    const name = "structured-run-output-enabled";
    for (const [headers, enabled] of [
      [CLOUD, true],
      [REMOTE, false],
    ] as const) {
      expect((await show(`workspaces/${workspace}`, headers)).attributes[name]).toBe(enabled);
    }
  });

  it("is said of the workspace that comes with a run", async () => {
    const { apply, send } = await start();
    const run = await apply();
    const of = async (headers: Headers) => {
      const { json } = await send("GET", `runs/run-${run}?include=workspace`, headers);
      const [workspace] = json["included"] as Resource[];
      return workspace?.attributes["structured-run-output-enabled"];
    };
    expect([await of(CLOUD), await of(REMOTE)]).toEqual([true, false]);
  });

  it("is read in slices as at once, and the two forms of a log do not mix", async () => {
    const { apply, log } = await start();
    const many = Array.from(
      { length: 30 },
      (_, at) => `resource "terraform_data" "r${at}" { input = ${at} }`,
    );
    const run = await apply(many.join("\n"));
    for (const headers of [CLOUD, REMOTE, CLOUD]) {
      const whole = await log("apply", run, headers);
      expect(await log("apply", run, headers, 1_000)).toBe(whole);
      expect(objectsOf(whole).length > 0).toBe(headers === CLOUD);
    }
  });

  it("says what is wrong once, with its source", async () => {
    const { apply, log } = await start();
    const run = await apply('resource "terraform_data" "a" { input = var.none }');
    const plan = await log("plan", run, CLOUD);
    expect(objectsOf(plan)).toMatchObject([
      {
        type: "diagnostic",
        diagnostic: {
          severity: "error",
          range: { filename: "main.tf", start: { line: 1 } },
          snippet: {
            context: 'resource "terraform_data" "a"',
            code: 'resource "terraform_data" "a" { input = var.none }',
            start_line: 1,
          },
        },
      },
    ]);
    expect(plan).not.toContain("The plan failed");
    expect(await log("plan", run, REMOTE)).toContain("The plan failed");
  });

  it("has a plan without changes as a document", async () => {
    const { apply, log, send } = await start();
    await apply();
    const run = await apply();
    expect(objectsOf(await log("plan", run, CLOUD)).map(({ type }) => type)).toEqual([
      "refresh_start",
      "refresh_complete",
    ]);
    const document = await send("GET", `plans/plan-${run}/json-output-redacted`, CLOUD);
    expect(document.json).toMatchObject({ plan_format_version: "1.2", output_changes: {} });
  });
});

it("is not for a stack whose tool writes text", async () => {
  const tool = await playedTool({ plan: "echo 'Plan: as the tool says it'; exit 2" });
  const { apply, log, show, send, workspace, call } = await start({ tools: [`terraform=${tool}`] });
  const place = "/api/v1/projects/default/stacks/demo/tool";
  const changed = await call("PATCH", place, { body: { tool: "terraform" } });
  expect([changed.status, changed.json["tool"]]).toEqual([200, "terraform"]);
  const run = await apply();
  const text = await log("plan", run, CLOUD);
  expect(objectsOf(text)).toEqual([]);
  expect(text).toContain("Plan: as the tool says it\n");
  const name = "structured-run-output-enabled";
  expect((await show(`workspaces/${workspace}`, CLOUD)).attributes[name]).toBe(false);
  const { json } = await send("GET", `runs/run-${run}?include=workspace`, CLOUD);
  const [included] = json["included"] as Resource[];
  expect(included?.attributes[name]).toBe(false);
});
