curl -X POST localhost:3000/products/tea/take     # {"left":9}
