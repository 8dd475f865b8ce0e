/* Sharing with a program that uses Vulkan itself: its device becomes ours, buffers go both ways.
 * Nothing here is needed by a program that only computes. */

