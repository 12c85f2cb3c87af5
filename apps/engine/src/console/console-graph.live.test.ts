import { join } from "node:path";
import process from "node:process";
import type { StackStatus } from "@stackwright/client";
import type { Page } from "playwright-core";
import { expect, it } from "vitest";
import { memoryOf, NOTE_MAIN_THREAD, takeMainThread } from "../testing/page-load.ts";
import { playStacks } from "../testing/play-stacks.ts";
import { signIn, startConsole, violationsOf } from "../testing/start-console.ts";

// The graph of all stacks where there are many: projects that open and close.

const PROJECTS = 40;
const STACKS = 2_000;
/** To be looked at: CONSOLE_SCREENSHOTS names the folder. */
const FOLDER = process.env["CONSOLE_SCREENSHOTS"] ?? "";
const PHASES = ["applied", "applied", "applied", "no_changes", "applying", "awaiting_approval"];

const projectOf = (at: number): string => `team-${String(at % PROJECTS).padStart(2, "0")}`;
const nameOf = (at: number): string => `${projectOf(at)}/stack-${at}`;

/** Projects that are as far from those that read nothing. */
const TIER = 8;

/** Stacks of projects of 50, each of which reads the one before it in its project, and some one of a project of a lower tier. */
function stack(at: number, more: Partial<StackStatus> = {}): StackStatus {
  const lower = Math.floor((at % PROJECTS) / TIER) * TIER;
  const phase = at === 777 ? "failed" : (PHASES[(at % 97) % PHASES.length] ?? "applied");
  const reads = [
    ...(at >= PROJECTS && at % 3 !== 0 ? [nameOf(at - PROJECTS)] : []),
    ...(lower > 0 && at % 7 === 0 ? [nameOf((at * 13) % lower)] : []),
  ];
  return {
    id: `s${at}`,
    project: projectOf(at),
    name: `stack-${at}`,
    waiting: 0,
    newest: {
      id: `r${at}`,
      number: 1,
      phase: at % 97 < 8 ? phase : "applied",
      at: "2026-01-01T00:00:00Z",
    },
    outdated: at % 211 === 5 ? reads.slice(0, 1) : [],
    reads,
    ...more,
  };
}

async function picture(page: Page, name: string): Promise<void> {
  if (FOLDER !== "") await page.screenshot({ path: join(FOLDER, `${name}.png`) });
}

/** Where the nodes of the picture are, by their titles. */
async function placesOf(page: Page): Promise<Readonly<Record<string, string>>> {
  return page.evaluate<Record<string, string>>(`Object.fromEntries(
    [...document.querySelectorAll(".graph-picture .node")].map((node) => [
      node.querySelector("title").textContent.replace(/[,:].*$/, ""),
      node.getAttribute("transform"),
    ]),
  )`);
}

it("two thousand stacks are read by project, found, opened and followed, by mouse and by keys", {
  timeout: 240_000,
}, async (context) => {
  const { page, server, token, browser } = await startConsole(context);
  page.setDefaultTimeout(15_000);
  const all = Array.from({ length: STACKS }, (_, at) => stack(at));
  const played = await playStacks(server.url, all);
  await browser.context.addInitScript({ content: NOTE_MAIN_THREAD });
  await page.goto(`${played.url}/console/`);
  await signIn(page, token);
  await page.goto(`${played.url}/console/graph`);
  const nodes = (count: number): Promise<void> =>
    page.getByText(new RegExp(`^${count} nodes, \\d+ dependencies$`)).waitFor();
  const node = (name: string) => page.locator(".node", { hasText: name });

  // Projects, each with what it holds that is not as it should be.
  await nodes(PROJECTS);
  const failing = node("team-17 ×50");
  await failing.waitFor();
  expect(await failing.getAttribute("class")).toContain("bad");
  expect(await failing.locator("text").textContent()).toBe("✕1 team-17 ×50");
  expect(await failing.locator("title").textContent()).toMatch(/^team-17, 50: .*1 failed/);
  // Shares of the group beside its color and its sign.
  expect(await failing.locator(".state-bar.bad").count()).toBe(1);
  for (const colorScheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme });
    await picture(page, `stacks-closed-${colorScheme}`);
    expect(await violationsOf(page), colorScheme).toEqual([]);
  }

  // What a project holds, and from there the one that failed: its project opens.
  await failing.click();
  const card = page.getByRole("region", { name: "team-17", exact: true });
  await card
    .getByText(/dependencies$/)
    .first()
    .waitFor();
  await picture(page, "stacks-chosen");
  const bad = card.getByRole("list", { name: "Not as they should be" });
  await bad.getByRole("button", { name: "team-17/stack-777" }).click();
  await nodes(PROJECTS - 1 + STACKS / PROJECTS);
  await node("team-17/stack-777").waitFor();
  await page.getByRole("link", { name: "Open team-17/stack-777" }).waitFor();
  await picture(page, "stacks-open");
  // The address is that of the view.
  await page.reload();
  await nodes(PROJECTS - 1 + STACKS / PROJECTS);
  await expect
    .poll(async () => page.locator(".node.chosen title").textContent())
    .toBe("team-17/stack-777: failed");

  // What happens meanwhile moves nothing.
  const before = await placesOf(page);
  played.change([
    stack(777, { newest: stack(0).newest as never }),
    stack(1, { outdated: ["x/y"] }),
  ]);
  await expect
    .poll(async () => page.locator(".node.chosen title").textContent())
    .toBe("team-17/stack-777: up to date");
  await expect.poll(async () => node("team-01 ×50").getAttribute("class")).toContain("attention");
  expect(await placesOf(page)).toEqual(before);
  // Nothing reads the last one of a project.
  played.change([], ["s1961"]);
  await node("team-01 ×49").waitFor();
  expect(await placesOf(page)).toEqual(before);

  await page.getByRole("button", { name: "Close team-17" }).click();
  await nodes(PROJECTS);

  // The search opens the project of what it finds, and brings it into view.
  const search = page.getByRole("searchbox", { name: "Find one of the stacks" });
  await search.fill("stack-1999");
  await picture(page, "stacks-find");
  await search.press("Enter");
  await expect
    .poll(async () => page.locator(".node.chosen title").textContent())
    .toMatch(/^team-39\/stack-1999/);
  const box = await page.locator(".node.chosen").boundingBox();
  const frame = await page.locator(".graph-picture").boundingBox();
  expect(box?.x).toBeGreaterThanOrEqual(frame?.x ?? 0);
  expect((box?.x ?? 0) + (box?.width ?? 0)).toBeLessThanOrEqual(
    (frame?.x ?? 0) + (frame?.width ?? 0),
  );
  await page.getByRole("button", { name: "Close all" }).click();
  await nodes(PROJECTS);

  // By keys alone: to a group, into it, and out again.
  await page.getByRole("application").focus();
  await page.keyboard.press("Shift+ArrowRight");
  const status = page.locator(".graph-tools").getByRole("status");
  await expect.poll(async () => status.textContent()).toMatch(/^team-\d+, 50: /);
  await page.keyboard.press("Shift+ArrowDown");
  await page.keyboard.press("Enter");
  await nodes(PROJECTS - 1 + STACKS / PROJECTS);
  await expect.poll(async () => status.textContent()).toMatch(/^team-\d+: open, 50 nodes$/);
  await page.keyboard.press("Enter");
  await nodes(PROJECTS);
  await page.keyboard.press("Escape");
  await expect.poll(async () => status.textContent()).toBe("");

  // More stacks than a picture has room for are not offered as one.
  expect(await page.getByRole("option", { name: "all stacks" }).isDisabled()).toBe(true);

  // While a hundred stacks change each second, the page stays usable.
  await takeMainThread(page);
  for (let turn = 0; turn < 50; turn += 1) {
    played.change([
      stack(turn * 7, { waiting: turn }),
      stack(turn * 11, { outdated: [`t/${turn}`] }),
    ]);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  await page.keyboard.press("ArrowLeft");
  const { longTasks } = await takeMainThread(page);
  const memory = await memoryOf(page);
  process.stdout.write(`${JSON.stringify({ longTasks, ...memory })}\n`);
  expect(Math.max(0, ...longTasks)).toBeLessThan(400);
  expect(memory.elements).toBeLessThan(3_000);

  await page.setViewportSize({ width: 390, height: 844 });
  await picture(page, "stacks-closed-390");
  expect(await page.evaluate<number>("document.documentElement.scrollWidth")).toBe(390);
  const { errors, violations } = browser.misbehavior;
  expect({ errors, violations }).toEqual({ errors: [], violations: [] });
});

it("a project with more stacks than a picture has room for shows what is found beside it", {
  timeout: 120_000,
}, async (context) => {
  const { page, server, token, browser } = await startConsole(context);
  const all = Array.from({ length: 1_000 }, (_, at) =>
    stack(at, {
      project: "one",
      name: `stack-${at}`,
      reads: at > 0 ? [`one/stack-${at - 1}`] : [],
      outdated: [],
    }),
  );
  const played = await playStacks(server.url, all);
  await page.goto(`${played.url}/console/`);
  await signIn(page, token);
  await page.goto(`${played.url}/console/graph`);
  await page.getByText("1 nodes, 0 dependencies").waitFor();
  await page.locator(".node", { hasText: "one ×1000" }).click();
  expect(await page.getByRole("button", { name: "Open its 1000 stacks" }).isDisabled()).toBe(true);
  const search = page.getByRole("searchbox", { name: "Find one of the stacks" });
  await search.fill("stack-500");
  await search.press("Enter");
  await page.getByText("2 nodes, 2 dependencies").waitFor();
  await page.getByRole("link", { name: "Open one/stack-500" }).waitFor();
  const { errors, violations } = browser.misbehavior;
  expect({ errors, violations }).toEqual({ errors: [], violations: [] });
});
