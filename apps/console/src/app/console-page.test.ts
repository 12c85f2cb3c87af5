import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { PLACES_IN_BAR, placesFor, placesInSettings } from "./places.ts";

// What apps/engine/docs/console.md says of the pages, their bounds and their pictures; live tests use the pages.

const ROOT = join(import.meta.dirname, "../../../..");
const PAGE = readFileSync(join(ROOT, "apps/engine/docs/console.md"), "utf8");
const source = (path: string): string => readFileSync(join(ROOT, path), "utf8");

type Caller = Parameters<typeof placesFor>[0];
const ADMINISTRATOR = {
  account: "default",
  roles: ["admin", "site-admin"],
  projects: [],
} as unknown as Caller;

/** Parts of pages, which the table names after the page that leads to them. */
const BELOW_OTHERS = ["Stack", "Run"];

describe("the table of pages", () => {
  const [, table = ""] = /\n\| Page .*?\n\|[- |]+\|\n(.*?)\n\n/s.exec(PAGE) ?? [];
  const rows = table.split("\n").map((row) => row.split("|")[1]?.trim() ?? "");

  it("has what the navigation leads an administrator to, by its words", () => {
    const written = rows.flatMap((names) => names.split(", "));
    const labels = placesFor(ADMINISTRATOR).map(({ label }) => label);
    expect(written.filter((name) => !BELOW_OTHERS.includes(name)).toSorted()).toEqual(
      labels.toSorted(),
    );
  });

  it("names addresses that the pages have", () => {
    const router = source("apps/console/src/app/router.tsx");
    const [, accounts = ""] = /filter \(`\/console(.*?)`\)/.exec(PAGE) ?? [];
    expect(placesInSettings(ADMINISTRATOR).map(({ to }) => to)).toContain(accounts);
    const [, live = ""] = /at `\/console(\/debug\/.*?)`/.exec(PAGE) ?? [];
    expect([accounts, live].filter((path) => !router.includes(`"${path}"`))).toEqual([]);
  });
});

it("the bar of a telephone has as many pages as the page says", () => {
  const words = ["no", "one", "two", "three", "four", "five", "six"];
  const [, count = ""] = /the bar at the lower edge has (\w+) pages/.exec(PAGE) ?? [];
  expect(words.indexOf(count)).toBe(PLACES_IN_BAR);
});

it("the key of the search is the one that the page names", () => {
  const [, key = ""] = /^`Ctrl (\w)` searches/m.exec(PAGE) ?? [];
  expect(source("apps/console/src/app/frame.tsx")).toContain(
    `event.key.toLowerCase() === "${key.toLowerCase()}"`,
  );
});

/** What the page says in figures, with the code that has them. */
it.each([
  ["more than 60;", "apps/console/src/app/pages/stacks-graph-page.tsx", "FEW = 60;"],
  ["room for (800 nodes)", "apps/console/src/graph/group-graph.ts", "MAX_NODES = 800;"],
  ["has not come after five seconds", "apps/console/src/app/parts/states.tsx", "SLOW_MS = 5_000;"],
  ["says so after three seconds", "apps/console/src/app/frame.tsx", "sinceMs + 3_000"],
  ["hidden for 15 seconds", "apps/console/src/app/live/while-visible.ts", "GRACE_MS = 15_000;"],
  ["more than 10,000 turns behind", "apps/engine/src/live/live-view.ts", "KEPT_TURNS = 10_000;"],
  [
    "nothing for a minute is cut off",
    "apps/engine/src/api/event-streams.ts",
    "STALLED_MS = 60_000;",
  ],
  ["within ten minutes", "apps/engine/src/sign-in/console-codes.ts", "CODE_MS = 10 * 60_000;"],
  [
    "ends after 12 hours",
    "apps/engine/src/sign-in/sign-in-plugin.ts",
    "CODE_TOKEN_MS = 12 * 3_600_000;",
  ],
  ["allows 1.5 s and 0.05 s", "apps/engine/src/console/console-plan-scale.live.test.ts", "1_500"],
])("the page says %j, as the code does", (says, file, code) => {
  expect(PAGE).toContain(says);
  expect(source(file)).toContain(code);
});

it("the live tests that the page names are there", () => {
  const tests = [...PAGE.matchAll(/`([\w.-]+\.live\.test\.ts)`/g)].map(([, name]) => name);
  expect(tests).toHaveLength(3);
  expect(readdirSync(join(ROOT, "apps/engine/src/console"))).toEqual(expect.arrayContaining(tests));
  const [, variable = ""] = /`(CONSOLE_\w+)=/.exec(PAGE) ?? [];
  expect(source("apps/engine/src/console/console-scale.live.test.ts")).toContain(variable);
});

it("there is a picture of each thing that the page lists, dark and light, wide and narrow", () => {
  const [, list = ""] = /\[All pictures\]\(.*?\): (.*?);/.exec(PAGE) ?? [];
  const files = readdirSync(join(ROOT, "docs/screenshots"));
  const named: Readonly<Record<string, string>> = {
    freezes: "frozen",
    "identity of runs": "identity",
    "live view": "live-view",
    drift: "drift-of-stacks",
  };
  for (const name of list.split(", ")) {
    const base = named[name] ?? name;
    const own = files.filter((file) =>
      new RegExp(`^${base}-(?:dark|light)-\\d+\\.png$`).test(file),
    );
    for (const form of ["dark", "light", "1440", "390"]) {
      expect([name, own]).toEqual([name, expect.arrayContaining([expect.stringContaining(form)])]);
    }
  }
});
