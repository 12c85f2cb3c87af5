import { createHmac } from "node:crypto";
import { gzipSync } from "node:zlib";
import { expect, it } from "vitest";
import { judgeNarrow } from "../testing/judge-narrow.ts";
import { isLoaded, startConsole, violationsOf } from "../testing/start-console.ts";
import { LATER_URN, startNotesFunction, URN } from "../testing/start-notes-function.ts";
import { startReceiver } from "../testing/start-receiver.ts";
import { tarOf } from "../testing/tar-of.ts";

// What users come for, one after the other on one server. The numbers of activations are limits of the design.

const configuration = (word: string): string => `
resource "terraform_data" "word" { input = ${JSON.stringify(word)} }
output "word" {
  value = terraform_data.word.output
  precondition {
    condition     = terraform_data.word.input != "too small"
    error_message = "the volume is too small"
  }
}
`;

const READER = `
data "terraform_remote_state" "one" {
  backend = "stackwright"
  config  = { stack = "one" }
}
resource "terraform_data" "copy" { input = data.terraform_remote_state.one.outputs.word }
`;
const MODULE = `
variable "cidr" {
  type        = string
  description = "addresses of the network"
}
output "cidr" { value = var.cidr }
`;

it("users set a project up, find out what failed and what changed, go back, publish, and stop everything", {
  timeout: 420_000,
}, async (context) => {
  const receiver = await startReceiver();
  const functions = await startNotesFunction();
  const args = ["--notification-host", "127.0.0.1", "--functions", functions.table];
  const started = await startConsole(context, { args });
  const { page, browser, request, waitFor, server, token, call } = started;
  const open = async (path: string): Promise<void> => {
    await page.goto(`${server.url}/console/${path}`);
    await page.locator("h1").first().waitFor();
    await isLoaded(page);
  };
  const found: string[] = [];
  const judge = async (name: string): Promise<void> => {
    await isLoaded(page);
    for (const colorScheme of ["light", "dark"] as const) {
      await page.emulateMedia({ colorScheme });
      found.push(...(await violationsOf(page)).map((text) => `${name} ${colorScheme}: ${text}`));
    }
  };
  const dialog = page.getByRole("dialog");

  // Events go to a webhook, which is tested; its secret is shown once.
  await open("p/default/notifications");
  await page.getByText("Nothing is sent anywhere").waitFor();
  await page.getByRole("button", { name: "Add a destination…" }).click();
  await dialog.getByLabel("Name", { exact: true }).fill("ops");
  await dialog.getByLabel("Address").fill(receiver.url);
  // Also where the dialog is left while the server makes it.
  const held = Promise.withResolvers<void>();
  await page.route(/\/notifications$/, async (route) => {
    if (route.request().method() === "POST") await held.promise;
    await route.continue();
  });
  await dialog.getByRole("button", { name: "Save" }).click();
  await dialog.getByText("Sending…").waitFor();
  await page.keyboard.press("Escape");
  await dialog.waitFor({ state: "detached" });
  held.resolve();
  await dialog.getByText(/^whsec_/).waitFor();
  await page.unroute(/\/notifications$/);
  await dialog.getByRole("button", { name: "Done" }).click();
  await page.getByRole("button", { name: "Test ops" }).click();
  await page.getByText("delivered (200)").waitFor();
  expect(receiver.events()).toEqual(["test"]);

  // A hook of the project is executed by its runs.
  await page.getByRole("link", { name: "Hooks" }).click();
  await page.getByText("There are no hooks").waitFor();
  await page.getByRole("button", { name: "Add a hook…" }).click();
  await dialog.getByLabel("Name", { exact: true }).fill("scan");
  await dialog.getByLabel("Script", { exact: true }).fill("echo scanned-by-the-hook");
  await dialog.getByRole("button", { name: "Save" }).click();
  await page.getByRole("cell", { name: "echo scanned-by-the-hook" }).waitFor();
  await judge("hooks");
  await page.getByRole("button", { name: "Change scan" }).click();
  await dialog.getByLabel("What", { exact: true }).selectOption("command");
  const command = JSON.stringify(["sh", "-c", "echo scanned-by\n\necho -the-hook"]);
  await dialog.getByLabel(/^Program and arguments/).fill(command);
  await dialog.getByRole("button", { name: "Save" }).click();
  await dialog.waitFor({ state: "detached" });
  // A line break within an argument is there again.
  await page.getByRole("button", { name: "Change scan" }).click();
  expect(JSON.parse(await dialog.getByLabel(/^Program and arguments/).inputValue())).toEqual(
    JSON.parse(command),
  );
  await dialog.getByLabel("What", { exact: true }).selectOption("script");
  await dialog.getByLabel("Script", { exact: true }).fill("echo scanned-by-the-hook");
  await dialog.getByRole("button", { name: "Save" }).click();
  await page.getByRole("cell", { name: "echo scanned-by-the-hook" }).waitFor();

  // Another system asks for checks with the secret that is shown once, until its webhook is deleted.
  await page.getByText("No other system asks for checks").waitFor();
  await page.getByRole("button", { name: "Add a webhook…" }).click();
  await dialog.getByLabel(/^Name/).fill("cloud");
  await dialog.getByLabel(/^Stacks by name/).fill("o*, two");
  await dialog.getByRole("button", { name: "Add" }).click();
  await dialog.getByText("It is shown once").waitFor();
  const [secret = "", address = ""] = await dialog.locator("code").allTextContents();
  await judgeNarrow(page, "drift-hook-secret");
  const deliver = async (): Promise<number> => {
    const body = JSON.stringify({ id: "event-1", stack: "one" });
    const signature = createHmac("sha256", secret).update(body).digest("hex");
    const headers = { "x-stackwright-signature": `sha256=${signature}` };
    return (await fetch(address, { method: "POST", headers, body })).status;
  };
  await dialog.getByRole("button", { name: "Done" }).click();
  await page.getByRole("row", { name: /cloud.*\/hooks\/drift\/.*o\*, two/ }).waitFor();
  expect(await page.content()).not.toContain(secret);
  await judgeNarrow(page, "drift-hooks");
  // The stack has nothing to be checked yet, which only who signs learns.
  expect(await deliver()).toBe(422);
  await page.getByRole("button", { name: "Delete the webhook cloud…" }).click();
  await dialog.getByRole("button", { name: "Delete" }).click();
  await page.getByText("No other system asks for checks").waitFor();
  expect(await deliver()).toBe(401);

  // Stacks without a rule of their own are checked for drift as the project says.
  await page.getByRole("link", { name: "Overview" }).last().click();
  await page.getByRole("button", { name: "Set a rule…" }).click();
  await dialog.getByLabel("Minutes between two checks").fill("120");
  await dialog.getByRole("button", { name: "Save" }).click();
  await page.getByText("every 2 hours").waitFor();
  await judge("project");
  const first = await request(configuration("one"), { auto_apply: true });
  await waitFor(first, "applied");
  await open(`p/default/s/one/r/${first}?tab=log`);
  await page.getByText("scanned-by-the-hook").first().waitFor();
  await waitFor(await request(configuration("two"), { auto_apply: true }), "applied");

  // What was sent, and sent again.
  await open("p/default/notifications");
  await page.getByRole("link", { name: "Deliveries of ops" }).click();
  await page
    .getByRole("row", { name: /run\.applied/ })
    .first()
    .waitFor();
  const again = page.getByRole("button", { name: /Send again: run\.applied/ });
  await again.last().waitFor({ timeout: 60_000 });
  await judge("notifications");
  const before = receiver.received.length;
  await again.last().click();
  await expect.poll(() => receiver.received.length, { timeout: 60_000 }).toBeGreaterThan(before);

  // What has changed since yesterday: three activations from the stack.
  await open("p/default/s/one");
  await page.getByRole("link", { name: "History" }).click();
  await page.getByRole("button", { name: "Last 24 hours" }).click();
  await page.getByText("terraform_data.word was created").waitFor();
  await page.locator(".plain-list button.link").last().click();
  await page.getByText(/was made by/).waitFor();
  await judge("history");
  await judgeNarrow(page, "history");
  // And back to what it was, by a run whose plan waits.
  await page.getByRole("button", { name: "Plan to go back…" }).click();
  await dialog.getByText("the recorded state is not put back").waitFor();
  await dialog.getByRole("button", { name: "Plan", exact: true }).click();
  await page.getByText("terraform_data.word will be updated in place").waitFor({ timeout: 90_000 });
  await page.getByRole("button", { name: "Discard…" }).click();
  await dialog.getByRole("button", { name: "Discard" }).click();
  await page.locator(".page-head .badge", { hasText: "discarded" }).waitFor();

  // Why did this fail: one activation from the overview.
  await waitFor(await request(configuration("too small"), {}), "failed");
  await open("");
  const attention = page.getByRole("region", { name: /Needs attention \(1\)/ });
  await attention.getByRole("link").click();
  await page.getByText("the volume is too small").first().waitFor();

  // Stop everything: three activations from the stack.
  await open("p/default/s/one");
  await page.getByRole("link", { name: "Settings" }).last().click();
  await page.getByText("stackwright: the engine of this server").waitFor();
  await page.getByRole("button", { name: "Change the tool…" }).click();
  await dialog.getByLabel("Plans and applies").selectOption("tofu");
  await dialog.getByLabel(/^shadow mode/).check();
  await judge("tool");
  await dialog.getByRole("button", { name: "Back" }).click();
  await page.getByRole("button", { name: "Lock…" }).click();
  await dialog.getByLabel("Reason").fill("an incident");
  await dialog.getByRole("button", { name: "Lock" }).click();
  await page.getByText(/locked by .*: an incident/).waitFor();
  await page.getByRole("button", { name: "Unlock" }).click();
  await page.getByText("This stack is not locked.").waitFor();

  // What a change reaches: from the outputs to the plans of all stacks that read them, in two activations.
  await call("POST", "/projects/default/stacks", { name: "two" });
  const readerFiles = Uint8Array.from(gzipSync(tarOf({ "main.tf": READER })));
  const second = "/projects/default/stacks/two";
  const uploaded = await call("POST", `${second}/configurations`, readerFiles);
  await call("POST", `${second}/runs`, { configuration: uploaded["digest"], auto_apply: true });
  await open("p/default/s/one/outputs");
  const dependents = page.getByRole("table", { name: "What depends on this stack (1)" });
  await dependents.getByRole("row", { name: /default\/two word/ }).waitFor({ timeout: 90_000 });
  await judge("outputs");
  await judgeNarrow(page, "outputs");
  await page.getByRole("button", { name: "Plan all of them (1)" }).click();
  await page.getByRole("link", { name: "Plan of default/two" }).click();
  await page.locator(".page-head .badge", { hasText: "no changes" }).waitFor({ timeout: 90_000 });

  // Stop everything that the reader may stop: three activations from any page.
  await open("frozen");
  await page.getByText("Nothing is frozen").waitFor();
  await page.getByRole("button", { name: "Freeze…" }).click();
  await dialog.getByLabel("Reason, which all users see").fill("the network is down");
  await dialog.getByRole("button", { name: "Freeze" }).click();
  const frozen = page.getByRole("table", { name: "What is frozen" });
  await frozen.getByRole("row", { name: /project default .*the network is down/ }).waitFor();
  await judge("frozen");
  // It is said on every page, and nothing begins to be applied.
  const kept = await request(configuration("three"), { auto_apply: true });
  await waitFor(kept, "approved");
  await open("p/default");
  await page.getByText("Frozen: project default").waitFor();
  await isLoaded(page);
  // Once.
  expect(await page.getByText("the network is down").count()).toBe(1);
  await page.getByRole("link", { name: "What is frozen" }).first().click();
  const waiting = page.getByRole("region", { name: "Begin when the freeze ends" });
  await waiting.getByRole("link", { name: "default/one" }).waitFor();
  await page.getByRole("button", { name: "End the freeze of project default" }).click();
  await page.getByText("Nothing is frozen").waitFor();
  await waitFor(kept, "applied");

  // A provider is published after its function was asked, and a module with what it takes: four activations each.
  await open("registry");
  await page.getByRole("button", { name: "New provider…" }).first().click();
  await dialog.getByLabel("Name", { exact: true }).fill("notes");
  await dialog.getByLabel("Version", { exact: true }).fill("1.0.0");
  await dialog.getByLabel("URN of the function").fill(URN.replace("notes", "nothing"));
  await dialog.getByRole("button", { name: "Check the function" }).click();
  await dialog.getByText(/does not answer as it should/).waitFor();
  await dialog.getByLabel("URN of the function").fill(URN);
  await dialog.getByRole("button", { name: "Check the function" }).click();
  await dialog.getByText(/answers with a schema/).waitFor();
  await dialog.getByRole("button", { name: "Publish" }).click();
  await page.getByRole("row", { name: /^1\.0\.0/ }).waitFor();
  await judge("provider");
  await page.getByText("With another one, both can be compared").waitFor();
  await page.getByRole("button", { name: "New version…" }).click();
  await dialog.getByLabel("Version", { exact: true }).fill("1.10.0");
  await dialog.getByLabel("URN of the function").fill(LATER_URN);
  await dialog.getByRole("button", { name: "Check the function" }).click();
  await dialog.getByText(/answers with a schema/).waitFor();
  await dialog.getByRole("button", { name: "Publish" }).click();
  // What of it breaks configurations comes first.
  const changes = page.getByRole("table", { name: "Changes of the schema" });
  await changes
    .getByRole("row", { name: /notes_note title is new: string, required may break/ })
    .waitFor();
  await page.getByText("3 changes").waitFor();
  await page.getByText("1 may break a configuration").waitFor();
  await judge("changes of a provider");
  await judgeNarrow(page, "schema-changes");
  await page.getByLabel("From").selectOption("1.10.0");
  await page.getByText("Choose two versions that differ.").waitFor();
  await page.getByLabel("to", { exact: true }).selectOption("1.0.0");
  await changes.getByText("is gone: string, required").waitFor();
  expect(page.url()).toContain("from=1.10.0&to=1.0.0");
  await open("registry");
  await page.getByRole("button", { name: "New module…" }).first().click();
  await dialog.getByLabel("Address").fill("acme/network/lab");
  await dialog.getByLabel("Version", { exact: true }).fill("1.2.0");
  await dialog.getByLabel(/^Archive/).setInputFiles({
    name: "network.tar.gz",
    mimeType: "application/gzip",
    buffer: gzipSync(tarOf({ "main.tf": MODULE })),
  });
  await dialog.getByRole("button", { name: "Publish" }).click();
  await page.getByRole("heading", { level: 1, name: "acme/network/lab" }).waitFor();
  await page.getByRole("row", { name: "cidr string required" }).waitFor();
  await judge("module");

  // A teammate gets a role in a project.
  await open("access");
  await page.getByRole("button", { name: "New service account…" }).click();
  await dialog.getByLabel("Name").fill("deploy-bot");
  await dialog.getByRole("button", { name: "New service account" }).click();
  await page.getByRole("row", { name: /deploy-bot/ }).waitFor();
  await page.getByRole("button", { name: "Give a role…" }).click();
  await dialog.getByLabel("User, or: team NAME").fill("deploy-bot");
  await dialog.getByLabel("Project (empty: the account)").fill("default");
  await dialog.getByRole("button", { name: "Give a role" }).click();
  await page.getByRole("button", { name: "Take away viewer of deploy-bot" }).waitFor();
  // What it will see and may do is looked at before anybody signs in.
  await page.getByRole("button", { name: "Rights of deploy-bot" }).click();
  await dialog.getByText(/^Project default: viewer/).waitFor();
  await dialog.getByText("Other projects are not shown to the user.").waitFor();
  await dialog.getByRole("button", { name: "Done" }).click();
  await judge("access");

  // What the live pages are derived from.
  await open("settings");
  await page.getByRole("link", { name: "Live view" }).click();
  await page.getByRole("row", { name: /stack status derive/ }).waitFor();
  await page.getByText("In sync with the store").waitFor();
  await page.getByRole("combobox", { name: "Stack" }).selectOption("default/one");
  await page.getByText(/It was last derived in turn \d+/).waitFor();
  await judge("live view");

  // Who only reads is offered no change, and finds no page of administrators.
  const reader = await call("POST", "/registry/tokens", {
    roles: ["registry:reader"],
    projects: [],
    description: "reads",
  });
  expect(reader["token"]).not.toBe(token);
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByLabel("Token").fill(reader["token"] ?? "");
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("heading", { level: 1, name: "Not found" }).waitFor();
  await open("p/default/s/one/drift");
  await page.getByText("This stack was not checked yet").waitFor();
  await open("p/default/s/one/history?to=2");
  await page.getByText(/was made by/).waitFor();
  const offered = page.getByRole("button", { name: /Check now|Set a rule|Plan to go back/ });
  expect(await offered.count()).toBe(0);
  await open("p/default");
  expect(await page.getByRole("link", { name: "Notifications" }).count()).toBe(0);

  expect(found).toEqual([]);
  expect(browser.misbehavior).toEqual({ errors: [], violations: [], strangers: [] });
});
