import { gzipSync } from "node:zlib";
import { expect, it, vi } from "vitest";
import type * as RegistryAudit from "../../access/registry-audit.ts";
import { P, S, startApi } from "../../testing/start-api.ts";
import { tarOf } from "../../testing/tar-of.ts";

// What is noted before the answer is lost with a server that is killed then.
vi.mock("../../access/registry-audit.ts", async (actual) => {
  const { registryAudit, ...others } = await actual<typeof RegistryAudit>();
  const withoutNotes: typeof registryAudit = (...given) => ({
    ...registryAudit(...given),
    note: async () => undefined,
  });
  return { ...others, registryAudit: withoutNotes };
});

const ANY = { "if-match": "*" };
const REGISTRY = "/api/v1/registry";
const MODULE = `${REGISTRY}/modules/acme/net/aws/1.0.0`;
const QUARANTINED = `${REGISTRY}/quarantine/registry.terraform.io/hashicorp/random/3.0.0`;

type Call = readonly [action: string, method: string, path: string, body?: object];

it("a change is in the audit trail by the step that makes it, also where no answer follows", {
  timeout: 60_000,
}, async () => {
  const { call, upload } = await startApi("none", { upstreamHosts: ["registry.terraform.io"] });
  const made = async (method: string, path: string, body?: object) => {
    const answer = await call(method, path, { body, headers: ANY });
    expect(answer.status, `${method} ${path}: ${answer.text}`).toBeLessThan(300);
    return answer.json;
  };
  await made("POST", `${P}/stacks`, { name: "one" });
  await made("PUT", `${REGISTRY}/namespaces/acme`, {});
  const { digest } = (await upload()).json;
  const idOf = ({ id }: Record<string, unknown>) => String(id);
  const run = `${S}/runs/${idOf(await made("POST", `${S}/runs`, { configuration: digest }))}`;
  const newSchedule = { cron: "0 3 * * *", mode: "plan_only" };
  const schedule = `${S}/schedules/${idOf(await made("POST", `${S}/schedules`, newSchedule))}`;

  const hooks = { hooks: [{ name: "scan", stage: "after_plan", script: "true" }] };
  const ops = { name: "ops", kind: "webhook", url: "https://ops.example.com/hook" };
  const archive = Uint8Array.from(gzipSync(tarOf({ "main.tf": "" })));
  const calls: readonly Call[] = [
    ["SetStackHooks", "PUT", `${S}/hooks`, hooks],
    ["ChangeSchedule", "PATCH", schedule, { paused: true }],
    ["DeleteSchedule", "DELETE", schedule],
    ["SetDriftRule", "PUT", `${S}/drift`, { every_minutes: 60 }],
    ["DeleteDriftRule", "DELETE", `${S}/drift`],
    ["OverrideFreeze", "POST", `${run}/freeze-override`, { reason: "urgent" }],
    ["CreateNotificationDestination", "POST", `${P}/notifications`, ops],
    ["ChangeNotificationDestination", "PATCH", `${P}/notifications/ops`, { paused: true }],
    ["DeleteNotificationDestination", "DELETE", `${P}/notifications/ops`],
    ["PublishModule", "PUT", MODULE, archive],
    ["WithdrawModule", "DELETE", MODULE],
    ["QuarantineVersion", "PUT", QUARANTINED, { reason: "a leak" }],
    ["ReleaseVersion", "DELETE", QUARANTINED],
  ];
  for (const [, method, path, body] of calls) await made(method, path, body);
  const { entries } = (await call("GET", "/api/v1/audit?limit=1000")).json as {
    entries: { action: string; outcome: string }[];
  };
  const done = entries.filter(({ outcome }) => outcome === "done").map(({ action }) => action);
  expect(done).toEqual(expect.arrayContaining(calls.map(([action]) => action)));
});
