import { describe, expect, it, vi } from 'vitest';
import { createInterrupts } from '../../src/cli/interrupts.ts';

describe('interrupts', () => {
  it('cancel a run at the first press and leave at the second', () => {
    const leave = vi.fn();
    const interrupts = createInterrupts(leave);
    const signal = interrupts.begin();
    interrupts.press('Ctrl-C');
    expect(signal.reason).toBe('Ctrl-C');
    expect(leave).not.toHaveBeenCalled();
    interrupts.press('Ctrl-C');
    expect(leave).toHaveBeenCalledOnce();
  });

  it('leave at once when nothing runs', () => {
    const leave = vi.fn();
    const interrupts = createInterrupts(leave);
    interrupts.press('Ctrl-C');
    expect(leave).toHaveBeenCalledOnce();
    const signal = interrupts.begin();
    interrupts.end();
    interrupts.press('Ctrl-C');
    expect(leave).toHaveBeenCalledTimes(2);
    expect(signal.aborted).toBe(false);
  });

  it('begin anew with each run', () => {
    const leave = vi.fn();
    const interrupts = createInterrupts(leave);
    interrupts.begin();
    interrupts.press('Ctrl-C');
    interrupts.end();
    const second = interrupts.begin();
    interrupts.press('Ctrl-C');
    expect(second.aborted).toBe(true);
    expect(leave).not.toHaveBeenCalled();
  });

  it('never leave when a run is only to be cancelled', () => {
    const leave = vi.fn();
    const interrupts = createInterrupts(leave);
    expect(interrupts.cancel('gone')).toBe(false);
    interrupts.begin();
    expect(interrupts.cancel('gone')).toBe(true);
    expect(interrupts.cancel('gone')).toBe(false);
    expect(leave).not.toHaveBeenCalled();
  });
});
