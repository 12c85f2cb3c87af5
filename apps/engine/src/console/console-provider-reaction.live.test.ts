import { expect, it } from "vitest";
import { judgeNarrow } from "../testing/judge-narrow.ts";
import { isLoaded, startConsole, violationsOf } from "../testing/start-console.ts";

it("what follows where providers change is set for a project, inherited by a stack, and set for the stack", {
  timeout: 120_000,
}, async (context) => {
  const { page, browser, call, server } = await startConsole(context);
  const ofProject = page.getByLabel("What follows for stacks that say nothing themselves");
  const ofStack = page.getByLabel("What follows", { exact: true });
  const shown = async () => call("GET", "/projects/default/stacks/one/provider-reaction");

  await page.goto(`${server.url}/console/p/default/s/one/settings`);
  await ofStack.waitFor();
  const inherited = ofStack.locator("option:checked");
  expect(await inherited.textContent()).toBe("from the project: nothing follows");

  await page.goto(`${server.url}/console/p/default`);
  await ofProject.selectOption("plan");
  await expect.poll(shown).toMatchObject({ reaction: "plan", from: "project" });
  await isLoaded(page);
  for (const colorScheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme });
    expect(await violationsOf(page), colorScheme).toEqual([]);
  }
  await judgeNarrow(page, "project-reaction");

  await page.goto(`${server.url}/console/p/default/s/one/settings`);
  await ofStack.waitFor();
  expect(await inherited.textContent()).toBe(
    "from the project: it is noted, notifications are sent, and a plan is requested",
  );
  await ofStack.selectOption("none");
  await expect.poll(shown).toMatchObject({ reaction: "none", from: "stack" });
  await ofStack.selectOption("inherit");
  await expect.poll(shown).toMatchObject({ reaction: "plan", from: "project" });
  await judgeNarrow(page, "stack-reaction");
  expect(browser.misbehavior).toEqual({ errors: [], violations: [], strangers: [] });
});
