import { expect, it } from "vitest";
import { TestClient } from "../testing/test-client.ts";

interface Item {
  readonly name: string;
  readonly detail: string;
}
interface Call {
  readonly from?: Item;
  readonly to?: Item;
  readonly fromRanges: readonly { readonly start: { readonly line: number } }[];
}

const call = (name: string, source: string): string =>
  `module "${name}" {\n  source = "${source}"\n}\n`;

const TEXTS = {
  "main.tf": call("net", "./modules/net") + call("again", "./modules/net"),
  "more.tf": call("app", "./modules/app") + call("far", "hashicorp/consul/aws"),
  "modules/net/main.tf": call("dns", "../dns"),
  "modules/net/zone.tf": call("dns2", "../dns"),
  "modules/app/variables.tf": 'variable "x" {}\n',
  "modules/app/app.tf": call("gone", "../gone"),
  "modules/dns/main.tf": 'variable "zone" {}\n',
};

const nameOf = (item: Item | undefined): string => `${item?.name} (${item?.detail})`;
const linesOf = ({ fromRanges }: Call): number[] => fromRanges.map(({ start }) => start.line);

async function start(marked: Partial<typeof TEXTS>) {
  const client = await TestClient.start({ ...TEXTS, ...marked });
  const prepare = async () => client.at<Item[]>("textDocument/prepareCallHierarchy");
  const incoming = async (item: Item | undefined) => {
    const calls = await client.connection.sendRequest<Call[]>("callHierarchy/incomingCalls", {
      item,
    });
    return calls.map((one) => [nameOf(one.from), linesOf(one)]);
  };
  const outgoing = async (item: Item | undefined) => {
    const calls = await client.connection.sendRequest<Call[]>("callHierarchy/outgoingCalls", {
      item,
    });
    return calls.map((one) => [nameOf(one.to), linesOf(one)]);
  };
  return { client, prepare, incoming, outgoing };
}

it("begins with the module that a call is of, with each of its files that call others", async () => {
  const { client, prepare, incoming, outgoing } = await start({
    "main.tf": TEXTS["main.tf"].replace('"net"', '"n|et"'),
  });
  await using _ = client;
  const items = await prepare();
  expect(items.map(nameOf)).toEqual(["modules/net (main.tf)", "modules/net (zone.tf)"]);
  const [main, zone] = items;
  const [own] = await incoming(main);
  expect(own?.[0]).toMatch(/\(main\.tf\)$/);
  expect(own?.[1]).toEqual([0, 3]);
  expect(await outgoing(main)).toEqual([["modules/dns (main.tf)", [0]]]);
  expect(await outgoing(zone)).toEqual([["modules/dns (main.tf)", [0]]]);
});

it("begins elsewhere with the module of the file, and says by which files it is called", async () => {
  const { client, prepare, incoming, outgoing } = await start({
    "modules/dns/main.tf": 'variable "z|one" {}\n',
  });
  await using _ = client;
  const [item, ...others] = await prepare();
  expect(others).toEqual([]);
  expect(nameOf(item)).toBe("modules/dns (main.tf)");
  expect(await incoming(item)).toEqual([
    ["modules/net (main.tf)", [0]],
    ["modules/net (zone.tf)", [0]],
  ]);
  expect(await outgoing(item)).toEqual([]);
});

it("names no modules that are not on the disk", async () => {
  const { client, prepare, outgoing } = await start({ "more.tf": `|${TEXTS["more.tf"]}` });
  await using _ = client;
  const [app] = await prepare();
  expect(nameOf(app)).toBe("modules/app (app.tf)");
  expect(await outgoing(app)).toEqual([]);
  await client.open("main.tf");
  const [root] = await client.connection.sendRequest<Item[]>("textDocument/prepareCallHierarchy", {
    textDocument: { uri: client.uri("more.tf") },
    // The one from a registry.
    position: { line: 3, character: 0 },
  });
  expect(await outgoing(root)).toEqual([["modules/app (app.tf)", [0]]]);
});
