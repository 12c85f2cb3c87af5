import { ClientError } from "@stackwright/client";
import { expect, it } from "vitest";
import { changeSeen } from "./change-seen.ts";

/** Versions that are read one after the other; the changes of the first so many meet one of another user. */
function start(conflicts: number, code: ClientError["code"] = "changed") {
  const named: string[] = [];
  const read = async () => ({ etag: `"${named.length + 1}"` });
  const change = async (ifMatch: string) => {
    named.push(ifMatch);
    if (named.length <= conflicts) throw new ClientError(code, "it was changed");
    return { data: "changed" };
  };
  return { named, read, change };
}

it("a change that met another one is made on what that left", async () => {
  const { named, read, change } = start(2);
  expect(await changeSeen(read, change)).toBe("changed");
  expect(named).toEqual(['"1"', '"2"', '"3"']);
});

it("what changes again and again is given up with the error of the server", async () => {
  const { named, read, change } = start(9);
  await expect(changeSeen(read, change)).rejects.toMatchObject({ code: "changed" });
  expect(named).toHaveLength(5);
});

it("another failure is not tried again", async () => {
  const { named, read, change } = start(1, "forbidden");
  await expect(changeSeen(read, change)).rejects.toMatchObject({ code: "forbidden" });
  expect(named).toHaveLength(1);
});

it("what has no version is named by a star", async () => {
  const { named, change } = start(0);
  await changeSeen(async () => ({}), change);
  expect(named).toEqual(["*"]);
});
