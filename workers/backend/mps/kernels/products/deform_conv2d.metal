kernel void NAME() {}
