import { describe, expect, it } from "vitest";
import { componentName } from "./component-name.ts";

const nameOf = (address: string): string => componentName("lab:index:Binder", address);

describe("the name of a component", () => {
  it("is that of the configuration", () => {
    expect(nameOf("lab_binder.b")).toBe("b");
    expect(nameOf("lab_binder.a-b")).toBe("a-b");
    expect(nameOf('module.a["x/y"].lab_binder.b[0]')).toMatch(/^a-x-y-b-0-[0-9a-f]{8}$/);
  });

  it("is that of no other component", () => {
    const addresses = [
      "lab_binder.a-b-0",
      "module.a.lab_binder.b-0",
      "module.a.lab_binder.b[0]",
      'module.a.lab_binder.b["0"]',
      "module.a-b.lab_binder.0",
      'lab_binder.a["b-0"]',
      'lab_binder.a["b 0"]',
      "lab_binder.é",
      "lab_binder.ü",
    ];
    expect(new Set(addresses.map(nameOf)).size).toBe(addresses.length);
  });
});
