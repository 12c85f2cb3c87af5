import type { Page } from "playwright-core";
import { expect, it } from "vitest";
import { fillConsole } from "../testing/fill-console.ts";
import { Keyboard } from "../testing/keyboard.ts";
import { policyBundle } from "../testing/policies/read-policies.ts";
import { isLoaded, startConsole } from "../testing/start-console.ts";
import { startNotesFunction } from "../testing/start-notes-function.ts";

// An approval, a failure and an incident without a mouse; what has the focus can be seen after every Tab.

const configuration = (word: string): string => `
resource "terraform_data" "old" {
  input            = "x"
  triggers_replace = ${JSON.stringify(word)}
}
`;

const FAILING = `
resource "terraform_data" "db" {
  provisioner "local-exec" { command = "echo about-to-fail; exit 3" }
}
resource "terraform_data" "web" { input = terraform_data.db.output }
`;

/** Wide, and one that has a bar at its bottom. */
const SCREENS = [
  { width: 1390, height: 900 },
  { width: 390, height: 700 },
] as const;

it.for(SCREENS)(
  "users decide, find causes and stop everything by keyboard alone, and see where they are on $width pixels",
  {
    timeout: 420_000,
  },
  async (viewport, context) => {
    const args = ["--provisioner-project", "default/default"];
    const { page, call, request, waitFor, browser } = await startConsole(context, {
      viewport,
      args,
    });
    const isNarrow = viewport.width < 768;
    const user = new Keyboard(page);
    const dialog = page.getByRole("dialog");
    // Closed it has no role; the page hears of that with the next frame, and takes it away. A key before that is lost.
    const closed = async (): Promise<void> => page.locator("dialog").waitFor({ state: "detached" });
    const opened = async (title: string): Promise<void> => {
      await page.getByRole("heading", { level: 1, name: title }).waitFor();
      await isLoaded(page);
    };
    /** By the navigation: places beyond the bar are in a sheet. */
    const goTo = async (place: string, isBeyond: boolean): Promise<void> => {
      if (isNarrow && isBeyond) {
        await user.tabTo("More");
        await user.press("Enter");
        await dialog.waitFor();
      }
      await user.tabTo(place);
      await user.press("Enter");
      await opened(place);
    };
    await call("POST", "/policy-sets", { name: "security" });
    const policies = Uint8Array.from(policyBundle());
    await call("PUT", "/policy-sets/security/content?entrypoint=stackwright", policies);
    await waitFor(await request(configuration("a"), { auto_apply: true }), "applied");
    const waiting = await request(configuration("b"), { message: "rotate keys" });
    await waitFor(waiting, "awaiting_approval");

    // The plan is approved: from the overview over what policies said.
    await page.getByRole("region", { name: /Needs attention \(1\)/ }).waitFor();
    await user.walk();
    await user.tabTo("default/one");
    await user.press("Enter");
    await opened("Run 2 of default/one");
    await page.getByText("terraform_data.old must be replaced").first().waitFor();
    await user.walk();
    await user.tabTo("Policies");
    await user.press("Enter");
    await page.getByRole("heading", { name: /security passed/ }).waitFor();
    await user.walk();
    await user.tabTo("Approve…");
    await user.press("Enter");
    await dialog.getByText("1 to replace").waitFor();
    await user.walk();
    await user.tabTo(/Type the name of the stack/);
    await user.type("one");
    await user.tabTo("Approve");
    await user.press("Enter");
    await closed();
    await waitFor(waiting, "applied");

    // Why did this fail, and once more.
    await waitFor(await request(FAILING, { auto_apply: true }), "partially_applied");
    await goTo("Overview", false);
    await page.getByRole("region", { name: /Needs attention \(1\)/ }).waitFor();
    await user.tabTo("default/one");
    await user.press("Enter");
    await opened("Run 3 of default/one");
    await page.getByRole("region", { name: "First cause: terraform_data.db" }).waitFor();
    await user.walk();
    await user.tabTo("The last lines of its log");
    await user.press("Enter");
    await page
      .getByText(/^about-to-fail/m)
      .first()
      .waitFor();
    await user.tabTo("Log");
    await user.press("Enter");
    await page.getByRole("log").waitFor();
    await user.walk();
    await user.tabTo("Run again…");
    await user.press("Enter");
    await dialog.waitFor();
    await user.walk();
    // What is left changes nothing, and gives the focus back to what opened it.
    await user.press("Escape");
    await closed();
    expect(await focusedText(page)).toBe("Run again…");
    await user.press("Enter");
    await dialog.waitFor();
    await user.tabTo("Run again");
    await user.press("Enter");
    await opened("Run 4 of default/one");

    // Stop everything, and let it go on.
    await goTo("Frozen", true);
    await user.walk();
    await user.tabTo("Freeze…");
    await user.press("Enter");
    await dialog.waitFor();
    await user.walk();
    await user.tabTo("Reason, which all users see");
    await user.type("the network is down");
    await user.tabTo("Freeze");
    await user.press("Enter");
    const end = page.getByRole("button", { name: "End the freeze of project default" });
    await end.waitFor();
    await user.walk();
    await user.tabTo("End the freeze of project default");
    await user.press("Enter");
    await page.getByText("Nothing is frozen").waitFor();

    expect(user.problems).toEqual([]);
    expect(browser.misbehavior).toEqual({ errors: [], violations: [], strangers: [] });
  },
);

it("after a change of the page its heading has the focus, without a ring; a tab keeps its own, with one", {
  timeout: 120_000,
}, async (context) => {
  const { page } = await startConsole(context);
  const user = new Keyboard(page);
  const focused = async (): Promise<readonly unknown[]> =>
    page.evaluate<unknown[]>(`(() => {
      const { localName, textContent } = document.activeElement;
      return [localName, textContent, getComputedStyle(document.activeElement).outlineStyle];
    })()`);
  // By the navigation, which stays, and by a link that goes with its page.
  await user.tabTo("Drift");
  await user.press("Enter");
  await expect.poll(focused).toEqual(["h1", "Drift", "none"]);
  await page.getByRole("navigation", { name: "Main" }).getByText("Overview").click();
  await expect.poll(focused).toEqual(["h1", "Overview", "none"]);
  await user.tabTo("default/one");
  await user.press("Enter");
  await expect.poll(focused).toEqual(["h1", "default/one", "none"]);
  await user.tabTo("Runs");
  await user.press("Enter");
  await page.getByText("No runs yet").waitFor();
  expect(await focused()).toEqual(["a", "Runs", "solid"]);
  await page.goBack();
  await page.goBack();
  await expect.poll(focused).toEqual(["h1", "Overview", "none"]);
  expect(user.problems).toEqual([]);
});

it("the focus is seen on every page, wide and narrow", { timeout: 420_000 }, async (context) => {
  const functions = await startNotesFunction();
  const started = await startConsole(context, { args: ["--functions", functions.table] });
  const { page, server } = started;
  const pages = await fillConsole(started);
  const user = new Keyboard(page);
  for (const path of Object.values(pages)) {
    await page.goto(`${server.url}/console/${path}`);
    await page.locator("h1").first().waitFor();
    await isLoaded(page);
    for (const viewport of SCREENS) {
      await page.setViewportSize(viewport);
      await user.walk();
    }
  }
  expect(user.problems).toEqual([]);
});

async function focusedText(page: Page): Promise<string> {
  return page.evaluate<string>("document.activeElement.textContent");
}
