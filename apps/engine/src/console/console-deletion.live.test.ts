import { expect, it } from "vitest";
import { judgeNarrow } from "../testing/judge-narrow.ts";
import { isLoaded, startConsole, violationsOf } from "../testing/start-console.ts";

it("a stack is deleted by its name, once it is said what becomes of its objects, by administrators", {
  timeout: 240_000,
}, async (context) => {
  const started = await startConsole(context);
  const { page, server, call, request, waitFor, browser } = started;
  await waitFor(await request('resource "terraform_data" "a" {}', { auto_apply: true }), "applied");
  const open = async (): Promise<void> => {
    await page.goto(`${server.url}/console/p/default/s/one/settings`);
    await isLoaded(page);
    await page.getByRole("button", { name: "Delete the stack…" }).click();
  };
  const dialog = page.getByRole("dialog", { name: "Delete default/one" });
  const confirm = dialog.getByRole("button", { name: "Delete the stack" });
  await open();
  await dialog.getByText("Its object stays in place").waitFor();
  await dialog.getByLabel(/^Type one/).fill("one");
  expect(await confirm.isDisabled()).toBe(true);
  await dialog.getByLabel("leave the objects in place, unmanaged").check();
  await dialog.getByLabel(/^Type one/).fill("on");
  expect(await confirm.isDisabled()).toBe(true);
  for (const width of [1440, 320]) {
    await page.setViewportSize({ width, height: 900 });
    for (const colorScheme of ["light", "dark"] as const) {
      await page.emulateMedia({ colorScheme });
      expect(await violationsOf(page), `${colorScheme} ${width}`).toEqual([]);
    }
    expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(width);
  }
  await judgeNarrow(page, "deletion");
  await page.setViewportSize({ width: 1440, height: 900 });

  // What keeps it from being deleted is said, and what was typed is kept.
  await call("PUT", "/projects/default/stacks/one/lock", { reason: "a migration" });
  await dialog.getByLabel(/^Type one/).fill("one");
  await confirm.click();
  await dialog.getByText("the stack is locked; unlock it first").waitFor();
  await dialog.getByRole("button", { name: "Back" }).click();
  await page.getByRole("button", { name: "Unlock" }).click();
  await page.getByText("This stack is not locked.").waitFor();
  await page.getByRole("button", { name: "Delete the stack…" }).click();
  await dialog.getByLabel("leave the objects in place, unmanaged").check();
  await dialog.getByLabel(/^Type one/).fill("one");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { level: 1, name: "default" }).waitFor();
  await page.goto(`${server.url}/console/p/default/s/one`);
  await page.getByText("Not found").first().waitFor();
  const errors = browser.misbehavior.errors.filter((text) => !/40[49]/.test(text));
  expect({ ...browser.misbehavior, errors }).toEqual({ errors: [], violations: [], strangers: [] });
});
