import { describe, expect, it } from "vitest";
import { Row } from "./row.ts";
import { RowGroups } from "./row-groups.ts";

describe("RowGroups", () => {
  it("has each row under its keys, whatever came and went", () => {
    const groups = new RowGroups<string>();
    const rows = Array.from({ length: 20 }, (_, i) => new Row(`r${i}`, i, `r${i}`, undefined));
    const expected = new Map<Row<string>, unknown[]>();
    let seed = 3;
    const random = (n: number) => (seed = (seed * 48271) % 2147483647) % n;
    const keys = [1, 2, 3, Number.NaN, "x"];
    for (let i = 0; i < 5000; i++) {
      const row = rows[random(rows.length)] as Row<string>;
      groups.leave(row);
      const own = keys.filter(() => random(3) === 0);
      groups.enter(row, own.length === 0 ? undefined : own.length === 1 ? own[0] : own);
      expected.set(row, own);
      for (const key of keys) {
        const wanted = rows.filter((one) => expected.get(one)?.includes(key));
        expect(new Set(groups.rowsAt(key))).toEqual(new Set(wanted));
        expect(groups.countAt(key)).toBe(wanted.length);
      }
    }
    for (const row of rows) groups.leave(row);
    expect([...groups.groupKeys()]).toEqual([]);
    expect(groups.size).toBe(0);
  });
});
