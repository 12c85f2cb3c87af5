import process from "node:process";
import { setTimeout as delay } from "node:timers/promises";
import { createServerClient, type RunLogEvent } from "@stackwright/client";
import type { Page } from "playwright-core";
import { expect, it } from "vitest";
import { memoryOf, NOTE_MAIN_THREAD, takeMainThread } from "../testing/page-load.ts";
import { isLoaded, MAIN, signIn, startConsole } from "../testing/start-console.ts";
import { startServerProcess } from "../testing/start-server-process.ts";

// A run of many resources that is followed as it happens, over lost connections and the death of its server, in two tabs.
//
// CONSOLE_RESOURCES says how many; 10,000 is the long run.

const RESOURCES = Number(process.env["CONSOLE_RESOURCES"] ?? 0);
const IS_LONG = RESOURCES >= 2_000;
/** A task that keeps the page from reacting for so long is felt. Shared machines are slower. */
const MAX_TASK_MS = 400;
const MAX_HEAP_BYTES = 80 * 2 ** 20;
const MAX_ELEMENTS = 3_000;
/** Of the API: two pages and a reader of the log are busy. */
const RATE = ["--api-rate-per-second", "1000", "--api-rate-burst", "2000"];
const PLACE = { project: "default", stack: "one" };

const configuration = `
resource "terraform_data" "r" {
  count = ${RESOURCES}
  input = { value = md5(count.index), index = count.index }
}
`;

interface Shown {
  /** Steps that the page calls done, and those that it has rows for. */
  readonly done: number;
  readonly rows: number;
  /** Lines of the log, those included that are no longer held. */
  readonly lines: number;
}

async function stepsOf(page: Page): Promise<Omit<Shown, "lines">> {
  const table = page.getByRole("table", { name: "Steps of the apply" });
  await table.waitFor();
  const head = await page.locator(".counts strong").innerText();
  const rows = Number(await table.getAttribute("aria-rowcount"));
  return { done: Number.parseInt(head, 10), rows };
}

async function linesOf(page: Page): Promise<number> {
  await page.getByRole("link", { name: "Log", exact: true }).click();
  const text = await page.locator(".filters .quiet").innerText();
  const [lines = "0", older = "0"] = text.match(/\d+/g) ?? [];
  return Number(lines) + Number(older);
}

it("a run of many resources is followed without loss or repetition, and the page stays usable", {
  timeout: 240_000 + RESOURCES * 60,
}, async (context) => {
  context.skip(RESOURCES === 0, "CONSOLE_RESOURCES is not set");
  const figures: Record<string, unknown> = { resources: RESOURCES };
  const started = await startConsole(context, { args: RATE });
  const { page, browser, request, waitFor, server, token, scratch } = started;
  await browser.context.addInitScript({ content: NOTE_MAIN_THREAD });
  const id = await request(configuration, {});
  await waitFor(id, "awaiting_approval");
  const url = `${server.url}/console/p/default/s/one/r/${id}`;

  // The plan: against an empty page of the same server, in the same browser.
  const timed = async (work: () => Promise<unknown>): Promise<number> => {
    const begin = performance.now();
    await work();
    return Math.round(performance.now() - begin);
  };
  figures["emptyPageMs"] = await timed(async () => page.goto(`${server.url}/healthz`));
  figures["planMs"] = await timed(async () => {
    await page.goto(url);
    await page.getByText("terraform_data.r[0] will be created").waitFor();
    // It takes input.
    await page.getByLabel("Filter changes").fill(`r[${RESOURCES - 1}]`);
    await page.getByText(/^1 found$/).waitFor();
  });
  figures["filterMs"] = await timed(async () => {
    await page.getByLabel("Filter changes").fill("r[1");
    await page.getByText(/^1 found$/).waitFor({ state: "detached" });
  });
  figures["planTasks"] = (await takeMainThread(page)).longTasks;
  figures["planMemory"] = await memoryOf(page);

  // The apply, in two tabs, of which one loses its connections again and again.
  const other = await browser.context.newPage();
  await other.goto(`${server.url}/console/`);
  await signIn(other, token);
  await other.goto(`${url}?tab=apply`);
  await page.bringToFront();
  await takeMainThread(page);
  const client = createServerClient({ server: server.url, token });
  const { data: run } = await client.showRun({ ...PLACE, run: id });
  const approval = { plan_digest: run.plan_digest ?? "" };
  await client.approveRun({ ...PLACE, run: id, body: approval });
  await page.goto(`${url}?tab=apply`);
  await page.getByRole("table", { name: "Steps of the apply" }).waitFor({ timeout: 90_000 });
  const cuts = IS_LONG ? 10 : 2;
  for (let cut = 0; cut < cuts; cut += 1) {
    await browser.context.setOffline(true);
    await delay(300);
    await browser.context.setOffline(false);
    await delay(700);
  }
  // Its server dies, and comes back at the same place.
  if (IS_LONG) {
    server.child.kill("SIGKILL");
    await server.ended;
    const { port } = new URL(server.url);
    const args = ["--store", `sqlite:${scratch}/store`, "--port", port];
    await startServerProcess(MAIN, [...args, ...RATE], { cwd: scratch });
  }
  const events: RunLogEvent[] = [];
  for await (const event of client.followRun({ ...PLACE, run: id })) events.push(event);
  const ended = events.filter(({ type }) => type === "step-end");
  const done = ended.filter(({ status }) => status === "done").length;
  await expect.poll(async () => (await stepsOf(page)).done, { timeout: 60_000 }).toBe(done);
  const live = { ...(await stepsOf(page)), lines: 0 };
  figures["applyThread"] = await takeMainThread(page);
  figures["applyMemory"] = await memoryOf(page);
  figures["events"] = events.length;
  live.lines = await linesOf(page);
  figures["end"] = events.at(-1)?.["phase"];

  // What was followed over every cut is what a page shows that reads it afterwards, and what the second tab shows.
  const fresh = await browser.context.newPage();
  await fresh.goto(`${server.url}/console/`);
  await signIn(fresh, token);
  await fresh.goto(`${url}?tab=apply`);
  const steps = { done: live.done, rows: live.rows };
  await expect.poll(async () => stepsOf(fresh), { timeout: 60_000 }).toEqual(steps);
  expect(await linesOf(fresh)).toBe(live.lines);
  // Every step that was planned has one row: also those that the death of the server kept from beginning.
  const known = events.filter(({ type }) => type === "planned" || type === "step-end");
  expect(live.rows).toBe(
    new Set(known.map(({ address, action }) => `${String(address)} ${String(action)}`)).size,
  );
  await other.bringToFront();
  await expect.poll(async () => stepsOf(other), { timeout: 60_000 }).toEqual(steps);
  expect(new Set(events.map(({ seq }) => seq)).size).toBe(events.length);
  await page.bringToFront();
  await expect.poll(async () => page.locator(".connection").innerText()).toBe("Live");

  // What is recorded now: the table and the picture.
  await page.goto(`${server.url}/console/p/default/s/one/resources`);
  await isLoaded(page);
  figures["resourcesMemory"] = await memoryOf(page);
  figures["graphMs"] = await timed(async () => {
    await page.goto(`${server.url}/console/p/default/s/one/graph`);
    await page.getByText(/\d+ nodes, \d+ dependencies/).waitFor();
  });
  figures["graphTasks"] = (await takeMainThread(page)).longTasks;
  process.stdout.write(`${JSON.stringify(figures)}\n`);

  const memory = figures["applyMemory"] as Awaited<ReturnType<typeof memoryOf>>;
  expect(memory.heapBytes).toBeLessThan(MAX_HEAP_BYTES);
  expect(memory.elements).toBeLessThan(MAX_ELEMENTS);
  const thread = figures["applyThread"] as Awaited<ReturnType<typeof takeMainThread>>;
  expect(Math.max(0, ...thread.longTasks)).toBeLessThan(MAX_TASK_MS);
  expect(figures["planMs"]).toBeLessThan(IS_LONG ? 5_000 : 2_500);
  expect(browser.misbehavior.violations).toEqual([]);
  expect(browser.misbehavior.strangers).toEqual([]);
  // Lost connections are the only failures, beside the icon of the empty page.
  const errors = browser.misbehavior.errors.filter((text) => !/net::ERR_|favicon/.test(text));
  expect(errors).toEqual([]);
});
