import { expect, it } from "vitest";
import { openBackend } from "./open-backend.ts";

async function identityOf(address: string, env: NodeJS.ProcessEnv = {}): Promise<string> {
  await using backend = await openBackend(
    { type: "pg", values: { conn_str: address } },
    { directory: "/", env },
  );
  return backend.identity?.("default") ?? "";
}

it("tells databases apart that are named by their users alone", async () => {
  const [ann, bob] = [
    await identityOf("postgres://ann:p@db.example.com"),
    await identityOf("postgres://bob:p@db.example.com"),
  ];
  expect(ann).not.toBe(bob);
  expect(await identityOf("postgres://db.example.com", { PGUSER: "ann" })).toBe(ann);
  expect(await identityOf("host=db.example.com user=bob")).toBe(bob);
  // The same database of any user.
  expect(await identityOf("postgres://bob@db.example.com:5432/ann")).toBe(ann);
});
