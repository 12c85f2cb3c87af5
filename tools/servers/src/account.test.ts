import { describe, expect, it } from "vitest";
import { unprivilegedAccount } from "./account.ts";

const ROOT = "root:x:0:0:root:/root:/bin/bash\n";
const NOBODY = "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n";
const POSTGRES = "postgres:x:101:104::/var/lib/postgresql:/bin/bash\n";

describe("unprivilegedAccount", () => {
  it("changes nothing for an ordinary user", () => {
    expect(unprivilegedAccount(1000, ROOT + POSTGRES)).toBeUndefined();
  });

  it("takes the account that the package made", () => {
    expect(unprivilegedAccount(0, ROOT + NOBODY + POSTGRES)).toEqual({
      name: "postgres",
      uid: 101,
      gid: 104,
    });
  });

  it("takes no account where there is none", () => {
    expect(unprivilegedAccount(0, ROOT + NOBODY)?.uid).toBe(65_534);
  });

  it("says so when there is neither", () => {
    expect(() => unprivilegedAccount(0, ROOT)).toThrow(
      'neither the user "postgres" nor "nobody" exists',
    );
  });
});
