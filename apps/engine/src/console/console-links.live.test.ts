import { expect, it } from "vitest";
import { isLoaded, startConsole } from "../testing/start-console.ts";

const configuration = (word: string): string => `
resource "terraform_data" "many" {
  count = 20
  input = "${word}"
}
resource "terraform_data" "other" { input = "${word}" }
`;

it("what is filtered, chosen and scrolled to is there again, by address, reload, back and forward", {
  timeout: 240_000,
}, async (context) => {
  const { page, browser, server, token, request, waitFor, call } = await startConsole(context);
  await waitFor(await request(configuration("one"), { auto_apply: true }), "applied");
  for (let at = 0; at < 40; at += 1) {
    await call("POST", "/projects/default/stacks", { name: `later-${at}` });
  }

  // A filter and a choice are a part of the address, and stay over a reload.
  await page.goto(`${server.url}/console/p/default/s/one/resources`);
  const filter = page.getByRole("searchbox").first();
  await filter.fill("many[1");
  await page.getByRole("option", { name: "terraform_data.many[17]" }).click();
  const chosen = page.getByRole("heading", { level: 2, name: "terraform_data.many[17]" });
  await chosen.waitFor();
  // What is typed is written a moment later.
  await expect.poll(() => new URL(page.url()).searchParams.get("q")).toBe("many[1");
  await page.reload();
  await chosen.waitFor();
  expect(await page.getByRole("searchbox").first().inputValue()).toBe("many[1");
  const address = page.url();

  // Back and forward, over pages of other kinds.
  await page.getByRole("link", { name: "History", exact: true }).click();
  await page.getByRole("region", { name: "Revisions" }).waitFor();
  await page.goBack();
  await chosen.waitFor();
  expect(await page.getByRole("searchbox").first().inputValue()).toBe("many[1");
  await page.goForward();
  await page.getByRole("region", { name: "Revisions" }).waitFor();

  // Another tab shows the same for the address.
  const other = await browser.context.newPage();
  await other.goto(address);
  await other.getByLabel("Token").fill(token);
  await other.getByRole("button", { name: "Sign in" }).click();
  await other
    .getByRole("heading", { level: 2, name: "terraform_data.many[17]" })
    .waitFor({ timeout: 60_000 });
  expect(await other.getByRole("searchbox").first().inputValue()).toBe("many[1");
  await other.close();

  // A list is where it was when its reader comes back to it.
  await page.goto(`${server.url}/console/`);
  await page.getByRole("link", { name: "default/later-39" }).waitFor();
  await isLoaded(page);
  await page.evaluate("scrollTo(0, 700)");
  const scrolled = async (): Promise<number> => page.evaluate<number>("scrollY");
  await expect.poll(scrolled).toBeGreaterThan(500);
  const before = await scrolled();
  await page.getByRole("link", { name: "default/later-30" }).click();
  await page.getByRole("heading", { level: 1, name: "default/later-30" }).waitFor();
  await page.goBack();
  await page.getByRole("heading", { level: 1, name: "Overview" }).waitFor();
  await expect.poll(scrolled, { timeout: 30_000 }).toBe(before);
  expect(browser.misbehavior).toEqual({ errors: [], violations: [], strangers: [] });
});
