import { describe, expect, it, vi } from 'vitest';
import { createInterrupts } from '../../src/cli/interrupts.ts';

describe('interrupts', () => {
  it('cancel a run at the first press and leave at the second', () => {
    const leave = vi.fn();
    const interrupts = createInterrupts(leave);
    const { cancelled } = interrupts.begin();
    interrupts.press('Ctrl-C');
    expect(cancelled.reason).toBe('Ctrl-C');
    expect(leave).not.toHaveBeenCalled();
    interrupts.press('Ctrl-C');
    expect(leave).toHaveBeenCalledOnce();
  });

  it('leave at once when nothing runs', () => {
    const leave = vi.fn();
    const interrupts = createInterrupts(leave);
    interrupts.press('Ctrl-C');
    expect(leave).toHaveBeenCalledOnce();
    const { cancelled } = interrupts.begin();
    interrupts.end();
    interrupts.press('Ctrl-C');
    expect(leave).toHaveBeenCalledTimes(2);
    expect(cancelled.aborted).toBe(false);
  });

  it('begin anew with each run', () => {
    const leave = vi.fn();
    const interrupts = createInterrupts(leave);
    interrupts.begin();
    interrupts.press('Ctrl-C');
    interrupts.end();
    const second = interrupts.begin();
    interrupts.press('Ctrl-C');
    expect(second.cancelled.aborted).toBe(true);
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

  it('drain a run once, and leave at the second time', () => {
    const leave = vi.fn();
    const drain = vi.fn(async () => {});
    const interrupts = createInterrupts(leave);
    const { cancelled, draining } = interrupts.begin(drain);
    interrupts.drain();
    expect(drain).toHaveBeenCalledOnce();
    expect(draining.aborted).toBe(true);
    expect(cancelled.aborted).toBe(false);
    expect(leave).not.toHaveBeenCalled();
    interrupts.drain();
    expect(drain).toHaveBeenCalledOnce();
    expect(leave).toHaveBeenCalledOnce();
  });

  it('leave at once when there is nothing to drain', () => {
    const leave = vi.fn();
    createInterrupts(leave).drain();
    expect(leave).toHaveBeenCalledOnce();
  });

  it('leave when a drain fails', async () => {
    const leave = vi.fn();
    const interrupts = createInterrupts(leave);
    interrupts.begin(() => Promise.reject(new Error('The disk is full.')));
    interrupts.drain();
    await vi.waitFor(() => expect(leave).toHaveBeenCalledOnce());
  });
});
