// The operator's input: six axes from -1 to 1 and the dead man's switch, combined from pad, keys and gamepad.

const KEYS: Record<string, [number, number]> = {
  ArrowRight: [0, 1],
  ArrowLeft: [0, -1],
  ArrowUp: [1, 1],
  ArrowDown: [1, -1],
  PageUp: [2, 1],
  PageDown: [2, -1],
  KeyI: [3, 1],
  KeyK: [3, -1],
  KeyJ: [4, 1],
  KeyL: [4, -1],
  KeyU: [5, 1],
  KeyO: [5, -1],
};
const DEAD_MAN_KEY = "KeyF";
const DEAD_ZONE = 0.08; // of a gamepad's stick
const BUMPERS = [4, 5, 6, 7];

export class Hand {
  pad: [number, number] = [0, 0];
  lift = 0;
  holding = new Set<string>(); // what holds the dead man's switch: pad, button, key, gamepad
  private keys = new Set<string>();

  get held(): boolean {
    return this.holding.size > 0;
  }

  /** Handle a key going down or up; true if it steers. */
  key(code: string, down: boolean): boolean {
    if (code !== DEAD_MAN_KEY && !(code in KEYS)) return false;
    if (code === DEAD_MAN_KEY) this.hold("key", down);
    else if (down) this.keys.add(code);
    else this.keys.delete(code);
    return true;
  }

  hold(by: string, on: boolean): void {
    if (on) this.holding.add(by);
    else this.holding.delete(by);
  }

  /** Release everything: the window has lost the focus. */
  letGo(): void {
    this.keys.clear();
    this.holding.clear();
    this.pad = [0, 0];
    this.lift = 0;
  }

  /** The current axes; all 0 while the dead man's switch is not held. */
  axes(gamepads: readonly (Gamepad | null)[]): number[] {
    const axes = [this.pad[0], this.pad[1], this.lift, 0, 0, 0];
    for (const code of this.keys) {
      const [axis, sign] = KEYS[code]!;
      axes[axis]! += sign;
    }
    const gamepad = gamepads.find((each) => each?.connected);
    this.hold("gamepad", !!gamepad && BUMPERS.some((i) => gamepad.buttons[i]?.pressed));
    if (gamepad) {
      const stick = (i: number) => (Math.abs(gamepad.axes[i] ?? 0) < DEAD_ZONE ? 0 : gamepad.axes[i]!);
      const sticks = [stick(0), -stick(1), -stick(3), 0, 0, -stick(2)];
      sticks.forEach((value, i) => (axes[i]! += value));
    }
    return this.held ? axes.map((value) => Math.max(-1, Math.min(1, value))) : [0, 0, 0, 0, 0, 0];
  }
}
