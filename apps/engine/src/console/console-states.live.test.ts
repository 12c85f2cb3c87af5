import type { Page, Route } from "playwright-core";
import { expect, it } from "vitest";
import { PAGE_STATES, type PageStates, type StateCase, streamOf } from "../testing/page-states.ts";
import { signIn, startConsole, type TestConsole } from "../testing/start-console.ts";

// Each page says what is the matter, and what to do, where it has nothing to show, or not yet, or not to this reader.

const CONFIGURATION = `resource "terraform_data" "a" { input = "x" }
resource "terraform_data" "b" {}
resource "terraform_data" "c" {}
resource "terraform_data" "d" {}
`;

/** What becomes of the requests that a page is made of. */
type Fate = "passed" | "held" | "failed" | "refused" | "unreachable";

const DETAIL = "it broke as the test wants it";
const TABS = 2;

interface Staged {
  readonly fate: Fate;
  readonly reads?: RegExp | undefined;
  readonly answers?: PageStates["answers"];
  readonly stream?: string | undefined;
}

/** A tab whose requests meet what is staged. */
interface Stage {
  readonly page: Page;
  set: (staged: Staged) => void;
}

function problem(status: number, code: string, title: string): Parameters<Route["fulfill"]>[0] {
  const document = { type: "about:blank", title, status, code, detail: DETAIL, request_id: "r-1" };
  return {
    status,
    contentType: "application/problem+json",
    body: JSON.stringify(document),
  };
}

/** Answers a request by what is staged; one that is held by what is staged next. */
async function answer(
  route: Route,
  { fate, reads, answers, stream }: Staged,
  next: () => Promise<Staged>,
): Promise<void> {
  const { pathname } = new URL(route.request().url());
  if (fate !== "passed" && reads?.test(pathname) === true) {
    if (fate === "held") return answer(route, await next(), next);
    if (fate === "failed") return route.fulfill(problem(500, "internal", "Internal Server Error"));
    if (fate === "refused") return route.fulfill(problem(403, "forbidden", "Forbidden"));
    return route.abort("connectionrefused");
  }
  const given = answers?.[pathname];
  if (given !== undefined) return route.fulfill({ json: given });
  if (stream !== undefined && pathname === "/api/v1/watch") {
    return route.fulfill({ contentType: "text/event-stream", body: stream });
  }
  return route.continue();
}

/** A further tab that is signed in. */
async function openStage({ browser, server }: TestConsole, token: string): Promise<Stage> {
  const page = await browser.context.newPage();
  page.setDefaultTimeout(20_000);
  let staged: Staged = { fate: "passed" };
  let change = Promise.withResolvers<Staged>();
  await page.route(/\/(api\/)?v1\//, async (route) => {
    if (route.request().method() !== "GET") return route.continue();
    const answered = answer(route, staged, async () => change.promise);
    // A page that was left meanwhile takes no answer.
    return answered.catch(() => undefined);
  });
  await page.goto(`${server.url}/console/`);
  await signIn(page, token);
  const set = (next: Staged): void => {
    staged = next;
    change.resolve(next);
    change = Promise.withResolvers();
  };
  return { page, set };
}

/** A server with what the rows of the table name, and tabs that do not share their stream: it could not be staged. */
async function start(context: Parameters<typeof startConsole>[0]) {
  const started = await startConsole(context);
  const { browser, call, request, waitFor, page, server, token } = started;
  await page.close();
  await browser.context.addInitScript("delete globalThis.SharedWorker");
  await call("POST", "/projects", { name: "bare" });
  await call("POST", "/projects/default/stacks", { name: "bare" });
  await call("POST", "/policy-sets", { name: "security", description: "" });
  await waitFor(await request(CONFIGURATION, { auto_apply: true }), "applied");
  const answered = await fetch(`${server.url}/api/v1/registry/tokens`, {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    body: JSON.stringify({ roles: ["registry:reader"], projects: [], description: "" }),
  });
  const { token: reader } = (await answered.json()) as { readonly token: string };
  const waiting = await request(CONFIGURATION.replaceAll('"b"', '"e"'), {});
  await waitFor(waiting, "awaiting_approval");
  const goTo = async (stage: Page, at: string): Promise<void> => {
    const address = `${server.url}/console${at.replace("RUN", waiting)}`;
    await stage.goto(address, { waitUntil: "commit" });
  };
  return { ...started, admin: token, reader, goTo };
}

/** What a page in some state must have beside its words; what it lacks. */
async function lacks(page: Page, texts: readonly (string | RegExp)[]): Promise<string[]> {
  const main = page.locator("main");
  const head = main.getByRole("heading", { level: 1 });
  for (const [what, wanted] of [
    ["a heading", head] as const,
    ...texts.map((text) => [`"${String(text)}"`, main.getByText(text)] as const),
  ]) {
    const isThere = await wanted
      .first()
      .waitFor()
      .then(
        () => true,
        () => false,
      );
    if (!isThere) return [`has not ${what} but: ${await main.innerText()}`];
  }
  const heads = await head.count();
  return heads === 1 ? [] : [`has ${heads} headings of the first level`];
}

/** Uses all buttons that ask again: some pages ask by themselves, too, so that a button may be gone before it is clicked. */
async function tryAgain(page: Page): Promise<void> {
  await page.getByRole("button", { name: "Try again" }).first().waitFor();
  await page.evaluate("document.querySelectorAll('.problem button').forEach((one) => one.click())");
}

/** Brings a page to its states, and notes what is missing in them. */
type Step = (stage: Stage) => Promise<void>;

interface Walk {
  readonly goTo: (page: Page, at: string) => Promise<void>;
  readonly note: (texts: readonly string[]) => void;
}

function emptyStep(empty: StateCase, { goTo, note }: Walk): Step {
  return async ({ page, set }) => {
    const stream = empty.stacks && streamOf(empty.stacks);
    set({ fate: "passed", answers: empty.answers, stream });
    await goTo(page, empty.at);
    note(await lacks(page, [empty.text]));
    const box = page.locator(".empty", { hasText: empty.text }).first();
    const parts = await box.locator("> *").count();
    if (parts < 2) note(["does not say what to do where it is empty"]);
  };
}

function filteredStep(one: StateCase, { goTo, note }: Walk): Step {
  return async ({ page, set }) => {
    const stream = one.stacks && streamOf(one.stacks);
    set({ fate: "passed", answers: one.answers, stream });
    await goTo(page, one.at);
    const missing = await lacks(page, [one.text]);
    note(missing);
    if (missing.length > 0) return;
    await page.getByRole("button", { name: "Clear the filter" }).first().click();
    await page.getByText(one.text).waitFor({ state: "detached" });
  };
}

/** From one state to the next by the button of the page: each is left in this way, too. */
function unansweredStep(reads: RegExp, { at, answers }: PageStates, { goTo, note }: Walk): Step {
  return async ({ page, set }) => {
    const change = async (fate: Fate): Promise<void> => {
      set({ fate, reads, answers });
      // What was held is answered by itself.
      if (fate !== "failed") await tryAgain(page);
    };
    set({ fate: "held", reads, answers });
    await goTo(page, at);
    for (const [fate, texts] of [
      // Not the code of the page, which comes before what it shows.
      ["held", [/Loading (?!page)/]],
      ["failed", [DETAIL, "the log of the server has more"]],
      ["refused", ["No permission", DETAIL, "Ask an administrator"]],
    ] as const) {
      if (fate !== "held") await change(fate);
      const missing = await lacks(page, texts);
      note(missing.map((text) => `${fate} ${reads.source}: ${text}`));
      if (missing.length > 0) return;
    }
    await change("passed");
    const problems = page.locator("main .problem");
    await expect.poll(async () => problems.allInnerTexts(), { timeout: 20_000 }).toEqual([]);
  };
}

/** A server that is gone is named as such, by each kind of request. */
function unreachableSteps({ goTo, note }: Walk): Step[] {
  const asked = [
    ["/projects", /^\/api\/v1\/projects$/],
    ["/registry", /^\/v1\/private-providers$/],
  ] as const;
  return [
    async ({ page, set }) => {
      set({ fate: "unreachable", reads: /\/watch$/ });
      await goTo(page, "/");
      note(await lacks(page, ["Still loading stacks: the server has not answered yet"]));
      await page.getByText("Reconnecting…").waitFor();
      set({ fate: "passed" });
      await page.getByRole("heading", { name: /^Stacks/ }).waitFor();
    },
    ...asked.map(
      ([at, reads]): Step =>
        async ({ page, set }) => {
          set({ fate: "unreachable", reads });
          await goTo(page, at);
          note(await lacks(page, ["cannot be reached", "Check the connection"]));
          set({ fate: "passed" });
          await tryAgain(page);
          await page.locator("main .problem").waitFor({ state: "detached" });
        },
    ),
  ];
}

/** Events of a run that cannot be followed are asked for again, and nothing says that they are still to come. */
function eventsStep(tab: string, after: string, { goTo, note }: Walk): Step {
  return async ({ page, set }) => {
    set({ fate: "failed", reads: /\/events$/ });
    await goTo(page, `/p/default/s/one/r/RUN?tab=${tab}`);
    note(await lacks(page, ["The events of this run cannot be followed", DETAIL]));
    const awaited = await page.getByText(/Waiting for the first event|Loading events/).count();
    if (awaited > 0) note([`waits in the tab ${tab} for events that do not come`]);
    set({ fate: "passed" });
    await tryAgain(page);
    await page.locator("main").getByText(after).first().waitFor();
    await page.locator("main .problem").waitFor({ state: "detached" });
  };
}

it("every page says what is the matter and what to do: empty, loading, failed, without a match, without permission", {
  timeout: 300_000,
}, async (context) => {
  const started = await start(context);
  const { browser, goTo, admin, reader } = started;
  const stages = await Promise.all(
    Array.from({ length: TABS }, async () => openStage(started, admin)),
  );
  const [first] = stages;
  const routes = await first?.page.evaluate<string[]>("Object.keys(__TSR_ROUTER__.routesByPath)");
  const own = new Set(routes?.map((path) => path.replace(/(?<=.)\/$/, "")));
  expect([...own].toSorted(), "each route has a row").toEqual(Object.keys(PAGE_STATES).toSorted());

  const found: string[] = [];
  const walkOf = (name: string): Walk => ({
    goTo,
    note: (texts) => void found.push(...texts.map((text) => `${name}: ${text}`)),
  });
  // What takes longest comes first.
  const steps: Step[] = [
    ...unreachableSteps(walkOf("unreachable")),
    eventsStep("apply", "Nothing was applied", walkOf("events")),
    eventsStep("log", "lines", walkOf("events")),
  ];
  for (const [route, row] of Object.entries(PAGE_STATES)) {
    const walk = walkOf(route);
    if (typeof row.empty !== "string") steps.push(emptyStep(row.empty, walk));
    steps.push(...row.noMatch.map((one) => filteredStep(one, walk)));
    steps.push(...row.reads.map((pattern) => unansweredStep(pattern, row, walk)));
  }
  const queue = steps.values();
  await Promise.all(
    stages.map(async (stage) => {
      for (const step of queue) await step(stage);
    }),
  );
  // As one who may not see some pages at all.
  const { page } = await openStage(started, reader);
  for (const [route, { at, isHidden }] of Object.entries(PAGE_STATES)) {
    if (isHidden !== true) continue;
    await goTo(page, at);
    walkOf(`${route} for a reader`).note(await lacks(page, ["Not found", "you may not see it"]));
  }
  expect(found).toEqual([]);
  const { errors, violations, strangers } = browser.misbehavior;
  // Requests that failed as they were to are no misbehavior of a page.
  const others = errors.filter((text) => !text.startsWith("Failed to load resource"));
  expect({ others, violations, strangers }).toEqual({ others: [], violations: [], strangers: [] });
});
