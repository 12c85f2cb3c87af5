import { randomUUID } from "node:crypto";
import { join } from "node:path";
import process from "node:process";
import { requireCommand } from "@stackwright-tools/processes";
import { onTestFinished } from "vitest";

/** An empty database of its own on the server that the environment names, until the end of the test. */
export async function makeDatabase(server: string): Promise<string> {
  const name = `upgrade_${randomUUID().replaceAll("-", "_")}`;
  const bin = process.env["TEST_POSTGRES_BIN"] ?? "";
  const words = [`--maintenance-db=${server}`, name];
  await requireCommand([join(bin, "createdb"), ...words]);
  onTestFinished(async () => {
    await requireCommand([join(bin, "dropdb"), "--force", ...words]);
  });
  const url = new URL(server);
  url.pathname = name;
  return url.href;
}
