import { expect, it } from "vitest";
import { coveredUsers, requireUser, type UserOfStack } from "./covered-users.ts";
import type { Principal } from "./principal.ts";

const USERS = [
  "acme/web/1",
  "acme/web/2",
  "acme/net/3",
  "acme/web",
  "web",
  "acme/web/1/2",
  "other/net/3",
  "/net/3",
];
const IDS: Readonly<Record<string, string>> = { "web/one": "1", "web/two": "2", "net/one": "3" };

const userOfStack: UserOfStack = async (account, stack) => {
  const id = IDS[stack];
  return id && `${account}/${stack.split("/", 1)[0]}/${id}`;
};

function caller(limits: Partial<Principal>): Principal {
  return { account: "acme", actor: "token-1", roles: ["deployer"], projects: [], ...limits };
}

it.each([
  ["all without a limit", {}, USERS],
  ["those of its projects", { projects: ["net"] }, ["acme/net/3"]],
  ["those of its stacks alone", { projects: ["web"], stacks: ["web/two"] }, ["acme/web/2"]],
  [
    "those of its stacks in its projects",
    { projects: ["web"], stacks: ["net/one", "web/one"] },
    ["acme/web/1"],
  ],
  ["none of a stack that there is not", { stacks: ["web/three"] }, []],
])("a caller sees and changes the uses: %s", async (_what, limits, seen) => {
  const covers = await coveredUsers(caller(limits), userOfStack);
  expect(USERS.filter(covers)).toEqual(seen);
});

it("without stacks a caller that is limited to some sees no use", async () => {
  const covers = await coveredUsers(caller({ stacks: ["web/one"] }));
  expect(USERS.filter(covers)).toEqual([]);
});

it("a caller of some projects records no use in the name of a stack of another account", async () => {
  const limited = caller({ projects: ["web"] });
  await expect(requireUser(limited, "other/web/1", userOfStack)).rejects.toMatchObject({
    code: "REGISTRY_FORBIDDEN",
  });
  await requireUser(limited, "acme/web/1", userOfStack);
});

it("a refusal names the stacks of the caller", async () => {
  const limited = caller({ projects: ["web"], stacks: ["web/one"] });
  await expect(requireUser(limited, "acme/web/2", userOfStack)).rejects.toMatchObject({
    code: "REGISTRY_FORBIDDEN",
    message: "token-1 is limited to the stacks web/one",
  });
  await requireUser(limited, "acme/web/1", userOfStack);
});
