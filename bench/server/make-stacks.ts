import { createServerClient } from "@stackwright/client";

const AT_ONCE = 16;

/** Makes the stacks `s0` and following ones in the project `default`. Resolves with the id of one of them. */
export async function makeStacks(
  { url, token }: { readonly url: string; readonly token: string },
  count: number,
): Promise<string> {
  const client = createServerClient({ server: url, token });
  let made = 0;
  let id = "";
  const work = async (): Promise<void> => {
    while (made < count) {
      const body = { name: `s${made}` };
      made += 1;
      ({ id } = (await client.createStack({ project: "default", body })).data);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return id;
}
