import { expect, it } from "vitest";
import { judgeNarrow } from "../testing/judge-narrow.ts";
import { isLoaded, startConsole } from "../testing/start-console.ts";

const SECRET = "s3cr3t-of-the-set";

it("an administrator makes, changes and deletes a variable set of the account and its variables, and sees no secret", {
  timeout: 180_000,
}, async (context) => {
  const { browser, page, server, call } = await startConsole(context);
  const shown = async () => {
    const answer = await call("GET", "/variable-sets");
    return answer["sets"] as unknown as readonly Record<string, unknown>[];
  };
  const dialog = page.getByRole("dialog");
  const press = async (name: string): Promise<void> =>
    page.getByRole("main").getByRole("button", { name, exact: true }).click();
  const answer = async (name: string): Promise<void> => {
    await dialog.getByRole("button", { name, exact: true }).click();
    await dialog.waitFor({ state: "detached" });
  };

  await page.goto(`${server.url}/console/settings`);
  await page.getByRole("link", { name: "Variable sets of the account" }).click();
  await page.getByText("The account has no variable sets").waitFor();
  await press("New variable set…");
  await dialog.getByLabel("Name").fill("shared");
  await dialog.getByLabel("Projects, with commas").fill("default, team-*");
  await dialog.getByLabel("What it is for").fill("addresses");
  await answer("Create the set");
  await page.getByRole("heading", { level: 1, name: "shared" }).waitFor();
  expect(await shown()).toMatchObject([
    { name: "shared", projects: ["default", "team-*"], stacks: [], description: "addresses" },
  ]);

  await press("Add a variable…");
  await dialog.getByLabel("Name").fill("region");
  await dialog.getByLabel("Value").fill("north");
  await answer("Save");
  await page.getByRole("cell", { name: "north" }).waitFor();
  await press("Add a variable…");
  await dialog.getByLabel("Category").selectOption("env");
  await dialog.getByLabel("Name").fill("PASSWORD");
  await dialog.getByLabel("Value").fill(SECRET);
  await dialog.getByLabel("sensitive").check();
  await answer("Save");
  await page.getByRole("cell", { name: "sensitive" }).waitFor();
  // What is there is not replaced by what is added.
  await press("Add a variable…");
  await dialog.getByLabel("Name").fill("region");
  await dialog.getByText("region is there already").waitFor();
  expect(await dialog.getByRole("button", { name: "Save" }).isDisabled()).toBe(true);
  await dialog.getByRole("button", { name: "Back" }).click();
  await press("Change region");
  await dialog.getByLabel("Value").fill("south");
  await answer("Save");
  await page.getByRole("cell", { name: "south" }).waitFor();
  await isLoaded(page);
  expect(await page.content()).not.toContain(SECRET);
  await press("Change PASSWORD");
  expect(await dialog.getByLabel("Value").inputValue()).toBe("");
  // Saved without a value, it would be replaced by nothing.
  const save = dialog.getByRole("button", { name: "Save" });
  expect(await save.isDisabled()).toBe(true);
  await dialog.getByLabel("Value").fill("another");
  expect(await save.isDisabled()).toBe(false);
  await dialog.getByRole("button", { name: "Back" }).click();
  await judgeNarrow(page, "variable-set");

  await press("Change…");
  await dialog.getByLabel("Stacks, with commas").fill("one");
  await dialog.getByLabel("priority").check();
  await answer("Save");
  await page.getByText("stacks one of projects default, team-*").waitFor();
  const [changed] = await shown();
  expect(changed).toMatchObject({
    stacks: ["one"],
    priority: true,
    variables: [
      { key: "PASSWORD", category: "env", sensitive: true },
      { key: "region", value: "south" },
    ],
  });

  // A change that another user made meanwhile is not lost.
  await press("Change…");
  const other = await fetch(`${server.url}/api/v1/variable-sets/shared`, {
    method: "PATCH",
    headers: {
      authorization: `Bearer ${String((await call("POST", "/registry/tokens", { roles: ["registry:admin"] }))["token"])}`,
      "content-type": "application/json",
      "if-match": "*",
    },
    body: JSON.stringify({ description: "of another user" }),
  });
  expect(other.status).toBe(200);
  await dialog.getByLabel("What it is for").fill("mine");
  await save.click();
  await dialog.getByText("changed since it was read").waitFor();
  // Nor when the page has shown the change behind the dialog.
  await page.getByText("of another user").waitFor();
  const answered = page.waitForResponse((one) => one.request().method() === "PATCH");
  await save.click();
  expect((await answered).status()).toBe(412);
  await dialog.getByRole("button", { name: "Back" }).click();
  await page.getByText("of another user").waitFor();
  expect(await shown()).toMatchObject([{ description: "of another user" }]);

  await page.goto(`${server.url}/console/p/default`);
  await page.getByRole("main").getByRole("link", { name: "shared" }).click();
  await press("Remove PASSWORD");
  await answer("Remove the variable");
  await page.getByText("PASSWORD").waitFor({ state: "detached" });
  await press("Delete the set…");
  await answer("Delete the set");
  await page.getByText("The account has no variable sets").waitFor();
  expect(await shown()).toEqual([]);
  expect(browser.misbehavior.violations).toEqual([]);
  expect(browser.misbehavior.strangers).toEqual([]);
  expect(browser.misbehavior.errors.filter((text) => !/412/.test(text))).toEqual([]);
});

it("who is no administrator of the account sees the sets, and is offered no change", {
  timeout: 120_000,
}, async (context) => {
  const { browser, server, call } = await startConsole(context);
  await call("POST", "/variable-sets", { name: "shared" });
  await call("PUT", "/variable-sets/shared/variables/terraform/region", { value: "north" });
  await call("POST", "/users", { name: "lea", service: true });
  await call("PUT", "/roles/user/lea", { role: "operator" });
  const { token = "" } = await call("POST", "/tokens", { role: "operator", user: "lea" });
  const page = await browser.context.newPage();
  await page.goto(`${server.url}/console/settings/variable-sets/shared`);
  await page.getByLabel("Token").fill(token);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("cell", { name: "north" }).waitFor();
  for (const name of ["Change…", "Delete the set…", "Add a variable…"]) {
    expect([name, await page.getByRole("button", { name }).isDisabled()]).toEqual([name, true]);
  }
  expect(await page.getByRole("button", { name: "Change region" }).count()).toBe(0);
  await page.getByRole("main").getByRole("link", { name: "Variable sets" }).click();
  expect(await page.getByRole("button", { name: "New variable set…" }).isDisabled()).toBe(true);
});

it("a variable of a stack that is changed keeps its description", {
  timeout: 120_000,
}, async (context) => {
  const { page, server, call } = await startConsole(context);
  const at = "/projects/default/stacks/one/variables/terraform/region";
  await call("PUT", at, { value: "north", description: "where it runs" });
  await page.goto(`${server.url}/console/p/default/s/one/variables`);
  await page.getByRole("button", { name: "Change region" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Value").fill("south");
  await dialog.getByRole("button", { name: "Save" }).click();
  await page.getByRole("cell", { name: "south" }).waitFor();
  expect(await call("GET", at)).toMatchObject({ value: "south", description: "where it runs" });
});
