import { expect, it, onTestFinished } from "vitest";
import { findChromium, startChromium } from "../testing/chromium.ts";
import { startIdentityPeer } from "../testing/identity-peer.ts";
import { startSignInServer } from "../testing/start-sign-in-server.ts";

it("a browser signs in with an identity provider, changes something, and signs out", {
  timeout: 240_000,
}, async (context) => {
  const executable = findChromium();
  context.skip(executable === undefined, "there is no Chromium on this machine");
  const server = await startSignInServer(async (callback) => {
    const user = {
      subject: "u-1",
      claims: { preferred_username: "alice", name: "Alice", groups: ["ops"] },
    };
    const peer = await startIdentityPeer([callback], () => user);
    onTestFinished(() => peer.close());
    return peer.issuer;
  });
  await server.admin("POST", "/teams", { name: "ops", groups: ["ops"] });
  await server.admin("PUT", "/roles/team/ops", { role: "admin" });
  const browser = await startChromium(executable ?? "", server.url, {});
  onTestFinished(async () => browser[Symbol.asyncDispose]());
  const page = await browser.context.newPage();
  page.setDefaultTimeout(60_000);
  await page.goto(`${server.url}/console/settings`);
  await page.getByRole("link", { name: "Sign in with peer" }).click();
  await page.getByRole("heading", { level: 1, name: "Settings" }).waitFor();
  expect(page.url()).toBe(`${server.url}/console/settings`);
  expect(await page.evaluate("document.cookie")).toBe("");
  await page.getByRole("link", { name: "Access" }).click();
  await page.getByRole("heading", { name: "Login sessions" }).waitFor();
  await page.getByRole("button", { name: "New service account…" }).click();
  await page.getByLabel("Name").fill("bot");
  await page.getByRole("button", { name: "New service account", exact: true }).click();
  await page.getByRole("rowheader", { name: "bot" }).waitFor();
  // The registry takes the session as the rest of the API does.
  await page.getByRole("link", { name: "Registry" }).click();
  await page.getByText("There are no private providers yet").waitFor();
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByRole("link", { name: "Sign in with peer" }).waitFor();
  await page.reload();
  await page.getByRole("link", { name: "Sign in with peer" }).waitFor();
  expect(browser.misbehavior.violations).toEqual([]);
  expect(browser.misbehavior.errors).toEqual([]);
});
