import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Page } from "playwright-core";
import { expect, it } from "vitest";
import { judgeNarrow } from "../testing/judge-narrow.ts";
import {
  isLoaded,
  MAIN,
  startConsole,
  type TestConsole,
  violationsOf,
} from "../testing/start-console.ts";
import { startServerProcess } from "../testing/start-server-process.ts";

interface Account {
  readonly name: string;
  readonly display_name: string;
  readonly description: string;
  readonly deleting: boolean;
}

/** What tests of accounts do on a page and beside it. */
function handsOf({ page, server, token }: TestConsole) {
  const dialog = page.getByRole("dialog");
  /** A request to the API as another user has it. */
  const ask = async (method: string, path: string, body?: object, as = token) =>
    fetch(`${server.url}/api/v1${path}`, {
      method,
      headers: {
        authorization: `Bearer ${as}`,
        "if-match": "*",
        ...(body !== undefined && { "content-type": "application/json" }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
  const shown = async (name: string): Promise<Account> => {
    const answer: unknown = await (await ask("GET", `/accounts/${name}`)).json();
    return answer as Account;
  };
  const press = async (name: string): Promise<void> =>
    page.getByRole("main").getByRole("button", { name, exact: true }).click();
  const answer = async (name: string): Promise<void> => {
    await dialog.getByRole("button", { name, exact: true }).click();
    await dialog.waitFor({ state: "detached" });
  };
  const open = async (path: string): Promise<void> => {
    await page.goto(`${server.url}/console/settings/${path}`);
    await page.locator("h1").first().waitFor();
    await isLoaded(page);
  };
  return { dialog, ask, shown, press, answer, open };
}

/** A page that another credential is signed in to; it opens an address of the console. */
async function pageOf({ browser, server }: TestConsole, token: string, path: string) {
  const page = await browser.context.newPage();
  await page.goto(`${server.url}/console/${path}`);
  await page.getByLabel("Token").fill(token);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.locator(".who").waitFor();
  await isLoaded(page);
  return page;
}

async function judgeThemes(page: Page): Promise<void> {
  for (const colorScheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme });
    expect(await violationsOf(page), colorScheme).toEqual([]);
  }
}

it("an administrator of the server makes an account with the token of its administrator, changes and deletes it", {
  timeout: 180_000,
}, async (context) => {
  const started = await startConsole(context);
  const { browser, page, server } = started;
  const { dialog, ask, shown, press, answer, open } = handsOf(started);
  await browser.context.grantPermissions(["clipboard-read", "clipboard-write"]);

  // The way there: the settings, and the palette.
  await page.getByRole("link", { name: "Settings" }).click();
  await page.getByRole("link", { name: "Accounts of the server" }).click();
  await page.getByRole("heading", { level: 1, name: "Accounts" }).waitFor();
  await page.getByRole("row", { name: /^default yours/ }).waitFor();
  await page.keyboard.press("Control+k");
  await dialog.getByRole("combobox").fill("account default");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { level: 1, name: "default" }).waitFor();
  await page.getByText("by its credentials, or what it has").waitFor();
  // The account that one is signed in to stays.
  expect(await page.getByRole("button", { name: "Delete the account…" }).isDisabled()).toBe(true);
  await page.getByRole("main").getByRole("link", { name: "Accounts" }).click();

  // What the server refuses of a name is said at its field, until another one is typed.
  await press("New account…");
  const name = dialog.getByLabel("Name", { exact: true });
  for (const [taken, problem] of [
    ["default", 'there is an account "default"'],
    ["stackwright", "is reserved"],
  ] as const) {
    await name.fill(taken);
    await dialog.getByRole("button", { name: "Create the account" }).click();
    await dialog.getByRole("alert").getByText(problem).waitFor();
    expect(await name.getAttribute("aria-invalid")).toBe("true");
    const described = (await name.getAttribute("aria-describedby")) ?? "";
    const texts = await Promise.all(
      described.split(" ").map(async (id) => page.locator(`[id="${id}"]`).innerText()),
    );
    expect(texts.join("\n")).toContain(problem);
  }
  await judgeThemes(page);
  await judgeNarrow(page, "new-account");
  await name.fill("Shop");
  await dialog.getByRole("button", { name: "Create the account" }).click();
  expect(await page.locator("dialog input:invalid").count()).toBe(1);
  expect(await dialog.getByRole("alert").count()).toBe(0);
  await name.fill("shop");
  await dialog.getByLabel("Name to show").fill("The shop");
  const posts: string[] = [];
  page.on("request", (request) => {
    if (request.method() === "POST") posts.push(new URL(request.url()).pathname);
  });
  await dialog.getByRole("button", { name: "Create the account" }).dblclick();
  await page.getByRole("heading", { level: 1, name: "shop" }).waitFor();
  await page.getByText("Nothing is in this account").waitFor();
  expect(await shown("shop")).toMatchObject({ display_name: "The shop", description: "" });
  await judgeThemes(page);
  await judgeNarrow(page, "account");

  // The token is shown once, and administers the account.
  await press("Make a token…");
  await dialog.getByLabel("What it is for").fill("first administrator");
  await dialog.getByLabel("Days until it expires").fill("7");
  // The second click comes when the token is there already, and does not close it.
  await dialog.getByRole("button", { name: "Make the token" }).dblclick({ delay: 150 });
  const made = (await dialog.locator("code.command").innerText()).trim();
  await dialog.getByRole("button", { name: "Copy the token" }).click();
  await dialog.getByText("Copied.").waitFor();
  expect(await page.evaluate("navigator.clipboard.readText()")).toBe(made);
  await judgeThemes(page);
  await judgeNarrow(page, "account-token");
  expect(posts).toEqual(["/api/v1/accounts", "/api/v1/accounts/shop/tokens"]);
  await answer("Done");
  expect(await page.content()).not.toContain(made);
  expect((await ask("POST", "/projects", { name: "web" }, made)).status).toBe(201);

  await press("Change…");
  await dialog.getByLabel("What it is for").fill("sells");
  await answer("Save");
  await page.getByText("sells").waitFor();
  expect(await shown("shop")).toMatchObject({ display_name: "The shop", description: "sells" });

  // What is left in it is named, also what came after the page was opened; its name has to be typed.
  await press("Delete the account…");
  const confirm = dialog.getByRole("button", { name: "Delete the account" });
  await dialog.getByText("projects: 1").waitFor();
  await dialog.getByLabel("Type shop to confirm").fill("shop");
  expect(await confirm.isDisabled()).toBe(true);
  await judgeThemes(page);
  await judgeNarrow(page, "account-deletion");
  await dialog.getByRole("button", { name: "Back" }).click();
  expect((await ask("DELETE", "/projects/web", undefined, made)).status).toBe(204);
  await press("Delete the account…");
  await dialog.getByText("projects: 1").waitFor({ state: "detached" });
  await dialog.getByLabel("Type shop to confirm").fill("sho");
  expect(await confirm.isDisabled()).toBe(true);
  await dialog.getByLabel("Type shop to confirm").fill("shop");
  // One that is made before the answer is in the refusal.
  expect((await ask("POST", "/projects", { name: "late" }, made)).status).toBe(201);
  await confirm.click();
  await dialog.getByRole("alert").getByText('the account "shop" has projects: 1').waitFor();
  await dialog.getByRole("listitem").getByText("projects: 1").waitFor();
  expect(await confirm.isDisabled()).toBe(true);
  expect((await ask("DELETE", "/projects/late", undefined, made)).status).toBe(204);
  await dialog.getByRole("button", { name: "Back" }).click();
  await press("Delete the account…");
  await dialog.getByLabel("Type shop to confirm").fill("shop");
  await expect.poll(async () => confirm.isDisabled()).toBe(false);
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { level: 1, name: "Accounts" }).waitFor();
  await page.getByRole("row", { name: /^default/ }).waitFor();
  await page.getByRole("row", { name: /^shop/ }).waitFor({ state: "detached" });
  expect((await ask("GET", "/accounts/shop")).status).toBe(404);
  expect((await ask("GET", "/caller", undefined, made)).status).toBe(401);
  await open("accounts/shop");
  await page.getByText('there is no account "shop"').waitFor();
  const errors = browser.misbehavior.errors.filter((text) => !/40[49]|422/.test(text));
  expect({ ...browser.misbehavior, errors }).toEqual({ errors: [], violations: [], strangers: [] });
  expect(page.url()).toBe(`${server.url}/console/settings/accounts/shop`);
});

it("a change of an account that another one made meanwhile is shown, and not lost", {
  timeout: 120_000,
}, async (context) => {
  const started = await startConsole(context);
  const { browser, page } = started;
  const { dialog, ask, shown, press, answer, open } = handsOf(started);
  await ask("POST", "/accounts", { name: "shop", display_name: "Shop" });
  await open("accounts/shop");
  await press("Change…");
  await dialog.getByLabel("What it is for").fill("mine");
  const others = { display_name: "Theirs", description: "of others" };
  expect((await ask("PATCH", "/accounts/shop", others)).status).toBe(200);
  const save = dialog.getByRole("button", { name: "Save" });
  await save.click();
  await dialog.getByRole("alert").getByText("It was changed meanwhile").waitFor();
  expect(await save.isDisabled()).toBe(true);
  expect(await shown("shop")).toMatchObject(others);
  await judgeThemes(page);
  await judgeNarrow(page, "account-conflict");
  await dialog.getByRole("button", { name: "Reload" }).click();
  // What was typed is kept beside what is there; what was not is as it is now.
  await dialog.getByText("Others have set: of others").waitFor();
  expect(await dialog.getByLabel("What it is for").inputValue()).toBe("mine");
  expect(await dialog.getByLabel("Name to show").inputValue()).toBe("Theirs");
  await answer("Save");
  await page.getByText("mine").waitFor();
  expect(await shown("shop")).toMatchObject({ display_name: "Theirs", description: "mine" });

  // An account without a record has no version: one that it got meanwhile was not seen.
  await open("accounts/default");
  await press("Change…");
  await dialog.getByLabel("Name to show").fill("Mine");
  expect((await ask("PATCH", "/accounts/default", others)).status).toBe(200);
  await save.click();
  await dialog.getByRole("alert").getByText("It was changed meanwhile").waitFor();
  await dialog.getByRole("button", { name: "Reload" }).click();
  await dialog.getByText("Others have set: Theirs").waitFor();
  await answer("Save");
  await page.getByText("Mine").waitFor();
  expect(await shown("default")).toMatchObject({ display_name: "Mine", description: "of others" });

  // The same before a deletion.
  await open("accounts/shop");
  await press("Delete the account…");
  await dialog.getByLabel("Type shop to confirm").fill("shop");
  expect((await ask("PATCH", "/accounts/shop", { description: "wanted" })).status).toBe(200);
  await dialog.getByRole("button", { name: "Delete the account" }).click();
  await dialog.getByRole("alert").getByText("It was changed meanwhile").waitFor();
  expect(await shown("shop")).toMatchObject({ description: "wanted", deleting: false });
  await dialog.getByRole("button", { name: "Reload" }).click();
  await page.getByText("wanted").waitFor();
  await answer("Delete the account");
  await page.getByRole("heading", { level: 1, name: "Accounts" }).waitFor();

  // One that was deleted elsewhere while its dialog is open is not found, whatever is asked of it.
  await ask("POST", "/accounts", { name: "gone" });
  await open("accounts/gone");
  await press("Change…");
  expect((await ask("DELETE", "/accounts/gone")).status).toBe(204);
  await dialog.getByLabel("Name to show").fill("still here");
  await save.click();
  await dialog.getByRole("alert").getByText('there is no account "gone"').waitFor();
  await dialog.getByRole("button", { name: "Back" }).click();
  await press("Make a token…");
  await dialog.getByRole("button", { name: "Make the token" }).click();
  await dialog.getByRole("alert").getByText('there is no account "gone"').waitFor();
  await dialog.getByRole("button", { name: "Back" }).click();
  await press("Delete the account…");
  await dialog.getByLabel("Type gone to confirm").fill("gone");
  await dialog.getByRole("button", { name: "Delete the account" }).click();
  await dialog.getByRole("alert").getByText('there is no account "gone"').waitFor();
  const errors = browser.misbehavior.errors.filter((text) => !/404|412/.test(text));
  expect({ ...browser.misbehavior, errors }).toEqual({ errors: [], violations: [], strangers: [] });
});

it("a deletion that the end of the server interrupted is shown, and ended", {
  timeout: 120_000,
}, async (context) => {
  const started = await startConsole(context);
  const { page, server, scratch } = started;
  const { dialog, ask, shown, press, answer, open } = handsOf(started);
  await ask("POST", "/accounts", { name: "shop" });
  await open("accounts/shop");
  await press("Delete the account…");
  await dialog.getByLabel("Type shop to confirm").fill("shop");
  await dialog.getByRole("button", { name: "Delete the account" }).click();
  await dialog.getByRole("button", { name: "Sending…" }).waitFor();
  await expect.poll(async () => (await shown("shop")).deleting, { interval: 50 }).toBe(true);
  server.child.kill("SIGKILL");
  await server.ended;
  const args = ["--store", `sqlite:${join(scratch, "store")}`, "--port", new URL(server.url).port];
  await startServerProcess(MAIN, args, { cwd: scratch });

  // Whatever the dialog says of its request: the page has what is stored.
  await open("accounts");
  await page.getByRole("row", { name: /^shop a deletion was begun/ }).waitFor();
  await judgeNarrow(page, "accounts-deleting");
  await page.getByRole("link", { name: "shop" }).click();
  await page.getByText("A deletion of this account was begun").waitFor();
  expect(await page.getByRole("button", { name: "Make a token…" }).isDisabled()).toBe(true);
  await judgeThemes(page);
  await judgeNarrow(page, "account-deleting");
  await press("End the deletion…");
  await dialog.getByRole("heading", { name: "End the deletion of shop" }).waitFor();
  await dialog.getByLabel("Type shop to confirm").fill("shop");
  await answer("End the deletion");
  await page.getByRole("heading", { level: 1, name: "Accounts" }).waitFor();
  await page.getByRole("row", { name: /^shop/ }).waitFor({ state: "detached" });
  expect((await ask("GET", "/accounts/shop")).status).toBe(404);
});

it("an administrator of an account finds its own account alone, and a reader finds none", {
  timeout: 120_000,
}, async (context) => {
  const started = await startConsole(context);
  const { browser, call } = started;
  const { ask, shown } = handsOf(started);
  await call("POST", "/accounts", { name: "shop", description: "sells" });
  const { token = "" } = await call("POST", "/accounts/shop/tokens", {});
  const admin = await pageOf(started, token, "settings");
  await admin.getByRole("heading", { level: 2, name: "Account", exact: true }).waitFor();
  expect(await admin.getByRole("link", { name: "Accounts of the server" }).count()).toBe(0);
  await admin.getByRole("link", { name: "The account shop" }).click();
  await admin.getByText("sells").waitFor();
  for (const name of ["Make a token…", "Delete the account…", "New account…"]) {
    expect([name, await admin.getByRole("button", { name }).count()]).toEqual([name, 0]);
  }
  await admin.getByRole("button", { name: "Change…" }).click();
  const dialog = admin.getByRole("dialog");
  await dialog.getByLabel("Name to show").fill("Our shop");
  await dialog.getByRole("button", { name: "Save" }).click();
  await admin.getByText("Our shop").waitFor();
  expect(await shown("shop")).toMatchObject({ display_name: "Our shop", description: "sells" });
  await judgeNarrow(admin, "own-account");
  const asked: string[] = [];
  browser.context.on("request", (request) => asked.push(new URL(request.url()).pathname));
  const isNotFound = async (page: Page, path: string): Promise<void> => {
    await page.goto(`${started.server.url}/console/settings/${path}`);
    await page.getByRole("heading", { level: 1, name: "Not found" }).waitFor();
  };
  await isNotFound(admin, "accounts");
  await isNotFound(admin, "accounts/default");

  const reader = await call("POST", "/registry/tokens", { roles: ["registry:reader"] });
  const page = await pageOf(started, reader["token"] ?? "", "settings");
  expect(
    await page
      .getByRole("link", { name: /account/i })
      .filter({ hasNotText: "sets" })
      .count(),
  ).toBe(0);
  await page.keyboard.press("Control+k");
  await page.getByRole("combobox").fill("account");
  await page.getByText("Nothing is called so.").waitFor();
  await isNotFound(page, "accounts");
  await isNotFound(page, "accounts/default");
  expect(asked.filter((path) => path.startsWith("/api/v1/accounts"))).toEqual([]);
  // The rest of what they could ask for is refused by the server.
  expect((await ask("GET", "/accounts", undefined, token)).status).toBe(403);
  expect(browser.misbehavior).toEqual({ errors: [], violations: [], strangers: [] });
});

it("many accounts are read in pages and found by name, and what they are called is text", {
  timeout: 180_000,
}, async (context) => {
  const started = await startConsole(context);
  const { browser, page, call } = started;
  const { dialog, press, open } = handsOf(started);
  const hostile = '<img src=x onerror="document.title=1">\u202egnp.exe\u0000 javascript:alert(1)';
  const long = "a".repeat(63);
  const description = "W".repeat(1_024);
  await call("POST", "/accounts", { name: "hostile", display_name: hostile, description: hostile });
  await call("POST", "/accounts", { name: long, display_name: "M".repeat(256), description });
  for (let index = 0; index < 100; index += 1) {
    await call("POST", "/accounts", { name: `team-${String(index).padStart(3, "0")}` });
  }
  await open("accounts");
  const rows = page.getByRole("table", { name: "Accounts" }).getByRole("row");
  expect(await rows.count()).toBe(101);
  await page
    .getByText(String.raw`<img src=x onerror="document.title=1">\u202egnp.exe\u0000`)
    .first()
    .waitFor();
  await judgeNarrow(page, "accounts");
  await judgeThemes(page);
  await press("More accounts");
  await expect.poll(async () => rows.count()).toBe(104);
  expect(await page.getByRole("button", { name: "More accounts" }).count()).toBe(0);
  await page.getByLabel("Filter accounts").fill("TEAM-09");
  await expect.poll(async () => rows.count()).toBe(11);
  await expect.poll(() => page.url()).toContain("q=TEAM-09");
  await page.reload();
  await page.getByRole("row", { name: /^team-099/ }).waitFor();
  expect(await page.getByLabel("Filter accounts").inputValue()).toBe("TEAM-09");
  await page.getByLabel("Filter accounts").fill("%2e");
  await page.getByText("No account has “%2e” in its name").waitFor();
  await page.getByRole("button", { name: "Clear the filter" }).click();
  await page.getByRole("row", { name: /^hostile/ }).waitFor();

  for (const name of ["hostile", long]) {
    await open(`accounts/${name}`);
    await page.getByText("Nothing is in this account").waitFor();
    await judgeNarrow(page, `account-${name}`.slice(0, 20));
    for (const button of ["Change…", "Make a token…", "Delete the account…"]) {
      await press(button);
      await judgeNarrow(page, `account-${name}-${button}`.slice(0, 30));
      await dialog.getByRole("button", { name: "Back" }).click();
    }
  }
  expect(browser.misbehavior).toEqual({ errors: [], violations: [], strangers: [] });
});

it("whose role is taken away meanwhile is refused, and a token that comes after its dialog was closed is shown", {
  timeout: 120_000,
}, async (context) => {
  const started = await startConsole(context);
  const { page, call } = started;
  await call("POST", "/accounts", { name: "shop" });
  const { dialog, ask, shown, press, open } = handsOf(started);
  await open("accounts/shop");
  await page.route("**/accounts/shop/tokens", async (route) => {
    await sleep(500);
    await route.continue();
  });
  await press("Make a token…");
  await dialog.getByRole("button", { name: "Make the token" }).click();
  await page.keyboard.press("Escape");
  await dialog.getByRole("button", { name: "Copy the token" }).waitFor();
  await dialog.getByRole("button", { name: "Done" }).click();
  await dialog.waitFor({ state: "detached" });

  for (const name of ["lea", "kim"]) {
    await call("POST", "/users", { name, service: true });
    await call("PUT", `/roles/user/${name}`, { role: "admin" });
  }
  const { token = "" } = await call("POST", "/tokens", { role: "admin", user: "lea" });
  const second = await pageOf(started, token, "settings/accounts/default");
  await second.getByRole("button", { name: "Change…" }).click();
  await call("PUT", "/roles/user/lea", { role: "viewer" });
  const asked = second.getByRole("dialog");
  await asked.getByLabel("Name to show").fill("mine");
  // Servers know roles for a moment.
  await expect
    .poll(async () => (await ask("GET", "/accounts/default", undefined, token)).status)
    .toBe(403);
  await asked.getByRole("button", { name: "Save" }).click();
  await asked.getByText("No permission").waitFor();
  expect(await shown("default")).toMatchObject({ display_name: "" });
  await call("PATCH", "/users/lea", { disabled: true });
  await expect.poll(async () => (await ask("GET", "/caller", undefined, token)).status).toBe(401);
  await asked.getByRole("button", { name: "Save" }).click();
  await second.getByText("The session has ended").waitFor();
});
