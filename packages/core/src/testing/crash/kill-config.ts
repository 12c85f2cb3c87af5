import { configText, type SimConfig } from "../simulation/sim-config.ts";

/** Configurations that follow each other: with each number objects are created, changed, replaced in both orders, deleted. */
export function killConfig(number: number): string {
  const base = { secret: false, needs: [], createFirst: false } as const;
  const config: SimConfig = [
    { ...base, name: "net", type: "model_thing", size: number, kind: 0, repeat: 2 },
    {
      ...base,
      name: "vm",
      type: "model_thing",
      size: 0,
      kind: number,
      createFirst: true,
      repeat: number % 2 === 0 ? ["a", "b"] : ["b", "c"],
      secret: true,
      needs: [{ name: "net", how: "all" }],
    },
    {
      ...base,
      name: "disk",
      type: "model_named",
      size: 0,
      kind: number,
      repeat: 2 + (number % 2),
      needs: [{ name: "net", how: "first" }],
    },
    {
      ...base,
      name: "dns",
      type: "model_thing",
      size: number,
      kind: 0,
      repeat: undefined,
      needs: [{ name: "vm", how: "all" }],
    },
  ];
  return configText(config);
}
