import { join } from "node:path";
import process from "node:process";
import { expect, it } from "vitest";
import { startConsole, violationsOf } from "../testing/start-console.ts";

// An apply in which each step is in another state, as its events tell it.

const FOLDER = process.env["CONSOLE_SCREENSHOTS"] ?? "";
const BEGIN_MS = Date.UTC(2026, 0, 2, 12);
const NAMES = ["a", "b", "c", "d", "e", "f"];

const addressOf = (name: string): string => `terraform_data.${name}`;
const of = (name: string) => ({ address: addressOf(name), deposed: "", action: "create" });

/** Events as the server sends them, the first of which has a number. */
function streamOf(first: number, events: readonly { readonly atMs: number }[]): string {
  return events
    .map(({ atMs, ...event }, index) => {
      const seq = first + index;
      return `id: R:${seq}\ndata: ${JSON.stringify({ ...event, seq, at: BEGIN_MS + atMs })}\n\n`;
    })
    .join("");
}

const EVENTS = [
  ...NAMES.map((name) => ({ atMs: 0, type: "planned", ...of(name) })),
  { atMs: 0, type: "step-start", ...of("a") },
  { atMs: 1_000, type: "step-end", ...of("a"), status: "done" },
  { atMs: 1_300, type: "step-start", ...of("b"), queuedMs: 300, after: of("a") },
  { atMs: 1_300, type: "step-start", ...of("d"), after: of("a") },
  { atMs: 1_300, type: "step-start", ...of("e") },
  { atMs: 2_000, type: "step-end", ...of("b"), status: "failed" },
  { atMs: 2_000, type: "step-end", ...of("c"), status: "skipped", cause: addressOf("b") },
  { atMs: 2_500, type: "step-end", ...of("e"), status: "tainted" },
];

it("steps that wait, run, failed, were skipped or are unresolved look and read differently", {
  timeout: 120_000,
}, async (context) => {
  const { page, server, call, request, browser } = await startConsole(context, {
    args: ["--executor", "none"],
  });
  const id = await request('resource "terraform_data" "a" {}', {});
  let phase = "applying";
  const run = await call("GET", `/projects/default/stacks/one/runs/${id}`);
  await page.route(`**/api/v1/projects/default/stacks/one/runs/${id}`, async (route) =>
    route.fulfill({ json: { ...run, phase } }),
  );
  const over = Promise.withResolvers<void>();
  await page.route("**/runs/*/events*", async (route) => {
    const isFirst = route.request().headers()["last-event-id"] === undefined;
    if (!isFirst) await over.promise;
    const end = [{ atMs: 3_000, type: "end", phase: "partially_applied" }];
    const body = isFirst ? streamOf(1, EVENTS) : streamOf(EVENTS.length + 1, end);
    await route.fulfill({ contentType: "text/event-stream", body });
  });
  await page.goto(`${server.url}/console/p/default/s/one/r/${id}?tab=apply`);
  const steps = page.getByRole("table", { name: "Steps of the apply" });
  const seen = async (name: string): Promise<readonly [text: string, ...bars: string[]]> => {
    const row = steps.locator(`[role=row]:has(.address[title="${addressOf(name)}"])`);
    const text = await row.locator(".badge").innerText();
    const bars: string[] = [];
    for (const bar of await row.locator(".bar").all()) {
      bars.push((await bar.getAttribute("class")) ?? "");
    }
    return [text.trim(), ...bars];
  };
  await steps.getByText("create tainted").waitFor();
  expect(await seen("a")).toEqual(["create done", "bar good"]);
  expect(await seen("b")).toEqual(["create failed", "bar waits", "bar queued", "bar bad"]);
  expect(await seen("c")).toEqual([`create skipped (${addressOf("b")})`, "bar waits"]);
  expect(await seen("d")).toEqual(["create", "bar waits", "bar active"]);
  expect(await seen("e")).toEqual(["create tainted", "bar waits", "bar bad"]);
  expect(await seen("f")).toEqual(["create waiting", "bar waits"]);
  // Of those in progress, the one that has been running for longest decides.
  await page.getByText(/^Critical path .*terraform_data\.a then terraform_data\.d$/).waitFor();

  // The run ends, and nothing was heard of one step.
  phase = "partially_applied";
  over.resolve();
  await steps.getByText("create unresolved").first().waitFor();
  expect(await seen("d")).toEqual(["create unresolved", "bar waits", "bar bad unresolved"]);
  expect(await seen("f")).toEqual(["create not started"]);
  for (const colorScheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme });
    if (FOLDER !== "") await page.screenshot({ path: join(FOLDER, `timeline-${colorScheme}.png`) });
    expect(await violationsOf(page), colorScheme).toEqual([]);
  }
  expect(browser.misbehavior.violations).toEqual([]);
  expect(browser.misbehavior.strangers).toEqual([]);
});
