import { join } from "node:path";
import process from "node:process";
import type { Locator } from "playwright-core";
import { expect, it } from "vitest";
import { judgeNarrow } from "../testing/judge-narrow.ts";
import { startConsole, violationsOf } from "../testing/start-console.ts";

// An apply in which each step is in another state, as its events tell it.

const FOLDER = process.env["CONSOLE_SCREENSHOTS"] ?? "";
const BEGIN_MS = Date.UTC(2026, 0, 2, 12);
/** No telephone has room for its address. */
const LONG = "step_whose_name_is_as_long_as_those_of_modules_0001";
const NAMES = ["a", "b", "c", "d", "e", LONG];

const addressOf = (name: string): string => `terraform_data.${name}`;
const of = (name: string) => ({ address: addressOf(name), deposed: "", action: "create" });

/** As a page has it. */
interface Styles {
  readonly getComputedStyle: (of: unknown) => { getPropertyValue: (name: string) => string };
}

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
  expect(await seen(LONG)).toEqual(["create waiting", "bar waits"]);
  // Of those in progress, the one that has been running for longest decides.
  await page.getByText(/^Critical path .*terraform_data\.a then terraform_data\.d$/).waitFor();

  // The run ends, and nothing was heard of one step.
  phase = "partially_applied";
  over.resolve();
  await steps.getByText("create unresolved").first().waitFor();
  expect(await seen("d")).toEqual(["create unresolved", "bar waits", "bar bad unresolved"]);
  expect(await seen(LONG)).toEqual(["create not started"]);
  for (const colorScheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme });
    if (FOLDER !== "") await page.screenshot({ path: join(FOLDER, `timeline-${colorScheme}.png`) });
    expect(await violationsOf(page), colorScheme).toEqual([]);
  }
  // The end of an address tells it from others, and is shown whatever the width.
  for (const width of [390, 320]) {
    await page.setViewportSize({ width, height: 900 });
    for (const name of ["c", LONG]) {
      const address = steps.locator(`.address[title="${addressOf(name)}"]`);
      const cell = await address.boundingBox();
      const end = await address.locator(".cut > :last-child").boundingBox();
      if (cell === null || end === null) throw new Error("the address is not shown");
      expect(end.x).toBeGreaterThanOrEqual(cell.x - 1);
      expect(end.x + end.width).toBeLessThanOrEqual(cell.x + cell.width + 1);
    }
    const head = steps.locator(`.address[title="${addressOf(LONG)}"] .cut > :first-child`);
    expect(await head.evaluate((one) => one.scrollWidth > one.clientWidth)).toBe(true);
  }
  const named = steps.getByRole("cell", { name: addressOf(LONG), exact: true });
  await named.waitFor();
  await judgeNarrow(page, "timeline");
  // Grounds are gone where the system chooses the colours, but bars and the chosen tab are seen.
  await page.setViewportSize({ width: 1280, height: 900 });
  await page.emulateMedia({ forcedColors: "active" });
  const colorOf = async (part: Locator, name: string): Promise<string> =>
    part.first().evaluate((one, of) => {
      const { getComputedStyle: styleOf } = globalThis as unknown as Styles;
      return styleOf(one).getPropertyValue(of);
    }, name);
  const ground = await colorOf(steps.locator(".bar.waits"), "background-color");
  expect(await colorOf(steps.locator(".bar.good"), "background-color")).not.toBe(ground);
  const line = "border-bottom-color";
  expect(await colorOf(page.locator(".tabs a:not(.active)"), line)).toBe(ground);
  expect(await colorOf(page.locator(".tabs a.active"), line)).not.toBe(ground);
  if (FOLDER !== "") await page.screenshot({ path: join(FOLDER, "timeline-forced.png") });
  expect(browser.misbehavior.violations).toEqual([]);
  expect(browser.misbehavior.strangers).toEqual([]);
});
