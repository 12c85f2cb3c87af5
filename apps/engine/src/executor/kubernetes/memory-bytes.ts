const UNITS: Readonly<Record<string, number>> = {
  "": 1,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  Ki: 1_024,
  Mi: 1_024 ** 2,
  Gi: 1_024 ** 3,
  Ti: 1_024 ** 4,
};

/** The bytes of a quantity of memory as Kubernetes writes it, such as `1536Mi`; undefined for none, and for a rarer form. */
export function memoryBytes(quantity: string | number | undefined): number | undefined {
  const [, number = "", unit = ""] =
    /^([0-9]+(?:\.[0-9]+)?)([kMGT]i?|Ki)?$/.exec(String(quantity)) ?? [];
  const factor = UNITS[unit];
  return number === "" || factor === undefined ? undefined : Math.floor(Number(number) * factor);
}
