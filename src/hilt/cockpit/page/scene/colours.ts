// Colours of things by their role, for light and dark.

const LIGHT: Record<string, number> = {
  body: 0x3f74b5,
  target: 0xb58a3f,
  robot: 0xd2691e,
  slave: 0xc2410c,
  virtual: 0x2f6fb3,
  tool: 0x5b6572,
  table: 0x8a93a0,
  ground: 0xb9c0c9,
  rotor: 0x334155,
  cable: 0x475569,
  hand: 0xc08457,
  wall: 0x9aa3af,
  force: 0xd01f3c,
  command: 0x7c3aed,
  background: 0xf4f6f8,
  grid: 0xd5dae1,
  box: 0x64748b,
  text: 0x1f2937,
};
const DARK: Record<string, number> = {
  body: 0x6ea8e6,
  target: 0xd9b163,
  robot: 0xf0995a,
  slave: 0xff8a4c,
  virtual: 0x63a4ea,
  tool: 0x9aa7b8,
  table: 0x7b8696,
  ground: 0x39424f,
  rotor: 0xa8b5c6,
  cable: 0x9aa9bd,
  hand: 0xe0a87a,
  wall: 0x5b6675,
  force: 0xff5d73,
  command: 0xb394ff,
  background: 0x12171e,
  grid: 0x252d38,
  box: 0x8797ab,
  text: 0xe5e9ef,
};

let dark = false;

export function useDark(on: boolean): void {
  dark = on;
}

export function colour(role: string): number {
  const table = dark ? DARK : LIGHT;
  return table[role] ?? (/^#[0-9a-f]{6}$/i.test(role) ? parseInt(role.slice(1), 16) : table.tool!);
}

export function css(role: string): string {
  return `#${colour(role).toString(16).padStart(6, "0")}`;
}
