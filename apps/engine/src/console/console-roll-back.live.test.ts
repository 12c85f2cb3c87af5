import { expect, it } from "vitest";
import { judgeNarrow } from "../testing/judge-narrow.ts";
import { isLoaded, signIn, startConsole } from "../testing/start-console.ts";

const configuration = (word: string): string =>
  `resource "terraform_data" "word" { input = ${JSON.stringify(word)} }
output "word" { value = terraform_data.word.output }`;

it("a user who is new to a stack finds what it was, and goes back to it", {
  timeout: 180_000,
}, async (context) => {
  const { browser, server, call, request, waitFor } = await startConsole(context);
  await waitFor(await request(configuration("before"), { auto_apply: true }), "applied");
  await waitFor(await request(configuration("after"), { auto_apply: true }), "applied");
  await call("POST", "/users", { name: "newcomer", service: true });
  await call("PUT", "/projects/default/roles/user/newcomer", { role: "operator" });
  const { token = "" } = await call("POST", "/tokens", { role: "operator", user: "newcomer" });
  // A tab of its own has a session of its own.
  const page = await browser.context.newPage();
  await page.goto(`${server.url}/console/`);
  await signIn(page, token);
  const stacks = page.getByRole("main").getByRole("link", { name: "default/one" });
  await stacks.first().click();
  await page.getByRole("link", { name: "History" }).click();
  await isLoaded(page);
  const oldest = page.locator(".plain-list button.link").last();
  await oldest.click();
  await page.getByRole("button", { name: "Plan to go back…" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByText("the recorded state is not put back").waitFor();
  await judgeNarrow(page, "roll-back");
  await dialog.getByRole("button", { name: "Plan", exact: true }).click();
  await page.getByText("terraform_data.word will be updated in place").waitFor();
  await page.getByRole("button", { name: "Approve…" }).click();
  await dialog.getByRole("button", { name: "Approve" }).click();
  await page.locator(".page-head .badge", { hasText: "applied" }).waitFor();
  await page.getByRole("link", { name: "default/one" }).first().click();
  await page.getByRole("link", { name: "Outputs" }).click();
  await page.getByText('"before"').waitFor();
  expect(browser.misbehavior).toEqual({ errors: [], violations: [], strangers: [] });
});
