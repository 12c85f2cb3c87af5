import { join } from "node:path";
import process from "node:process";
import type { Page } from "playwright-core";
import { expect, it, onTestFinished } from "vitest";
import { findChromium, startChromium, type TestBrowser } from "../testing/chromium.ts";
import { startIdentityPeer } from "../testing/identity-peer.ts";
import { isLoaded, signIn, violationsOf } from "../testing/start-console.ts";
import { startSignInServer } from "../testing/start-sign-in-server.ts";

// A teammate, from the invitation to the first look at the own project.

const FOLDER = process.env["CONSOLE_SCREENSHOTS"] ?? "";
const WORDS = "Ask the people of the network.\nIt is in the vault, under net/key <b>bold</b>.";

it("a teammate is invited in three activations, and sees its own project and its first steps", {
  timeout: 120_000,
}, async (context) => {
  const executable = findChromium();
  context.skip(executable === undefined, "there is no Chromium on this machine");
  const claims = {
    preferred_username: "somebody",
    name: "Bea",
    email: "bea@example.org",
    email_verified: true,
  };
  let issuer = "";
  const server = await startSignInServer(
    async (callback) => {
      const peer = await startIdentityPeer([callback], () => ({ subject: "u-7", claims }));
      onTestFinished(() => peer.close());
      ({ issuer } = peer);
      return issuer;
    },
    { link_verified_email: true },
  );
  for (const name of ["net", "payroll"]) {
    expect((await server.admin("POST", "/projects", { name })).status).toBe(201);
    const made = await server.admin("POST", `/projects/${name}/stacks`, { name: "prod" });
    expect(made.status).toBe(201);
  }
  const found: string[] = [];
  const judge = async (page: Page, name: string): Promise<void> => {
    await isLoaded(page);
    for (const width of [1440, 390]) {
      await page.setViewportSize({ width, height: 900 });
      for (const colorScheme of ["light", "dark"] as const) {
        await page.emulateMedia({ colorScheme });
        if (FOLDER !== "") {
          await page.screenshot({ path: join(FOLDER, `${name}-${colorScheme}-${width}.png`) });
        }
        const bad = await violationsOf(page);
        found.push(...bad.map((text) => `${name} ${colorScheme} ${width}: ${text}`));
      }
      const wide = await page.evaluate<number>("document.documentElement.scrollWidth");
      if (wide > width) found.push(`${name} is ${wide} pixels wide on a screen with ${width}`);
    }
    await page.setViewportSize({ width: 1390, height: 900 });
  };
  const open = async (): Promise<TestBrowser> => {
    const browser = await startChromium(executable ?? "", server.url, {});
    onTestFinished(async () => browser[Symbol.asyncDispose]());
    return browser;
  };

  // The project says how its keys are had.
  const admins = await open();
  const admin = await admins.context.newPage();
  admin.setDefaultTimeout(30_000);
  await admin.goto(`${server.url}/console/`);
  await signIn(admin, server.token);
  // A token is of no user: it has no first steps.
  expect(await admin.getByText("Your first steps").count()).toBe(0);
  await admin.goto(`${server.url}/console/p/net`);
  const dialog = admin.getByRole("dialog");
  await admin.getByRole("button", { name: "Say how to get them…" }).click();
  await dialog.getByLabel("How members get them").fill(WORDS);
  await dialog.getByRole("button", { name: "Save" }).click();
  await admin.getByText("Ask the people of the network").waitFor();

  await admin.goto(`${server.url}/console/access`);
  await admin.getByText("There are no users").waitFor();
  await admin.getByText("There are no teams").waitFor();
  await admin.getByText("No user and no team has a role").waitFor();
  await judge(admin, "access-empty");
  await admin.getByRole("button", { name: "Invite a user…" }).click();
  await dialog.getByLabel("Name").fill("bea");
  await dialog.getByLabel("Address of mail").fill(claims.email);
  expect(await dialog.getByLabel("Project").inputValue()).toBe("net");
  await dialog.getByLabel("Role").selectOption("operator");
  await judge(admin, "invite");
  await dialog.getByRole("button", { name: "Invite" }).click();
  await dialog.getByText(`${server.url}/console/`, { exact: true }).waitFor();
  await dialog.getByText("Project net:").waitFor();
  await dialog.getByText("Other projects are not shown to the user.").waitFor();
  await judge(admin, "invited");
  expect(await dialog.getByRole("button", { name: "Back" }).count()).toBe(0);
  await dialog.getByRole("button", { name: "Done" }).click();
  await admin.getByRole("row", { name: /bea/ }).first().waitFor();

  // A team, and who is in it.
  await admin.getByRole("button", { name: "New team…" }).click();
  await dialog.getByLabel("Name").fill("network");
  await dialog.getByRole("button", { name: "New team" }).click();
  await admin.getByText("No team has members").waitFor();
  await admin.getByRole("button", { name: "Add a member…" }).click();
  await dialog.getByLabel("Team").fill("network");
  await dialog.getByLabel("User").fill("bea");
  await dialog.getByRole("button", { name: "Add a member" }).click();
  await admin.getByRole("cell", { name: "1", exact: true }).waitFor();
  await admin.getByRole("button", { name: "Remove bea from network" }).click();
  await admin.getByText("No team has members").waitFor();

  // It signs in, and is who was invited.
  const teammates = await open();
  const page = await teammates.context.newPage();
  page.setDefaultTimeout(30_000);
  await page.goto(`${server.url}/console/`);
  await page.getByRole("link", { name: "Sign in with peer" }).click();
  await page.getByRole("heading", { level: 1, name: "Overview" }).waitFor();
  expect(await page.locator(".who").innerText()).toBe("bea");
  const steps = page.getByRole("region", { name: "Your first steps" });
  await steps.getByText(`stackwright login --server ${server.url} --browser`).waitFor();
  await steps.getByText(WORDS).waitFor();
  await page.getByRole("link", { name: "net/prod" }).waitFor();
  expect(await page.locator("main").innerText()).not.toContain("payroll");
  await judge(page, "first-steps");
  await page.goto(`${server.url}/console/p/payroll`);
  await page.getByText("Not found").first().waitFor();
  await page.goto(`${server.url}/console/p/net`);
  await page.getByText("Ask the people of the network").waitFor();
  expect(await page.getByRole("button", { name: "Change the words…" }).count()).toBe(0);

  // A user who knows the way hides the steps, for good.
  await page.goto(`${server.url}/console/`);
  await steps.getByRole("button", { name: "Hide these steps" }).click();
  await steps.waitFor({ state: "detached" });
  await page.reload();
  await page.getByRole("link", { name: "net/prod" }).waitFor();
  expect(await steps.count()).toBe(0);

  expect(found).toEqual([]);
  expect(admins.misbehavior).toEqual({ errors: [], violations: [], strangers: [] });
  // The project of others, and the way over the identity provider.
  expect(teammates.misbehavior.errors.filter((text) => !/404/.test(text))).toEqual([]);
  expect(teammates.misbehavior.violations).toEqual([]);
  const ofOthers = teammates.misbehavior.strangers.filter((url) => !url.startsWith(issuer));
  expect(ofOthers).toEqual([]);
});
