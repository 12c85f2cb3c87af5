import { expect, it } from "vitest";
import { isLoaded, startConsole, violationsOf } from "../testing/start-console.ts";

// Why a page shows what it shows, for those who administer the server.

it("says which change made an object what it is, from the status of a stack on, while it changes", {
  timeout: 120_000,
}, async (context) => {
  const { page, server, token, call, browser } = await startConsole(context);
  const lock = "/projects/default/stacks/one/lock";
  await call("PUT", lock, { reason: "an incident" });
  await page.goto(`${server.url}/console/debug/krt`);
  const why = page.getByRole("region", { name: "Why did an object change?" });
  await why.getByRole("combobox", { name: "Stack" }).selectOption("default/one");
  await why.getByText(/^It was last derived in turn \d+, as locks .* changed\.$/).waitFor();
  const reads = why.getByRole("list", { name: "What it reads" });
  await reads.getByText("looks up locks by key, 1 object").waitFor();

  // From the change to the object that was changed, and to what it changed.
  await why.getByRole("button", { name: /^locks default\/default\// }).click();
  await why.getByText("the store feeds this collection").waitFor();
  const dependants = why.getByRole("list", { name: "What depends on it" });
  await dependants.getByRole("button", { name: /^stack status default\/default\// }).waitFor();
  await why.getByRole("list", { name: "Its last changes" }).getByText("add").waitFor();
  await isLoaded(page);
  for (const colorScheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme });
    expect(await violationsOf(page), colorScheme).toEqual([]);
  }
  expect(await page.content()).not.toContain("an incident");

  // It is followed by itself, and the address leads there again.
  await fetch(`${server.url}/api/v1${lock}`, {
    method: "DELETE",
    headers: { authorization: `Bearer ${token}` },
  });
  await why.getByText("There is no object with this key now.").waitFor();
  await expect.poll(() => page.url()).toContain("collection=locks");
  await page.reload();
  const waiting = why.getByRole("list", { name: "What waits for it" });
  await waiting.getByRole("button", { name: /^stack status/ }).click();
  await why.getByText(/^It was last derived in turn \d+, as locks .* changed\.$/).waitFor();
  await reads.getByText("looks up locks by key, 0 objects").waitFor();
  expect(browser.misbehavior).toEqual({ errors: [], violations: [], strangers: [] });
});
